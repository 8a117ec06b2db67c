package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzFingerprint holds that what has a fingerprint is JSON, has the canonical form of an independent writer, keeps its
// fingerprint when written otherwise, and that an error is typed and within the text.
func FuzzFingerprint(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","inputSchema":{"type":"object","properties":{"n":{"maximum":9007199254740991}}}}`,
		`{"a":1,"\u0061":2}`, `[1.0,1e0,-0,0.1,1e400]`, `"\ud83d\ude00\ud800"`, "[[[]]] x", "", "nul", `{"é":[{}]}`, "1e9999999999999",
	} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		kept := bytes.Clone(raw)
		fingerprint, err := ComputeFingerprint(raw)
		require.Equal(t, kept, raw)
		if err != nil {
			var typed *JSONError
			require.True(t, errors.As(err, &typed), "%v", err)
			require.True(t, 0 <= typed.Offset && typed.Offset <= int64(len(raw)), "%v", err)
			require.Empty(t, fingerprint)
			return
		}
		require.True(t, json.Valid(raw))
		canonical, err := CanonicalJSON(raw)
		require.NoError(t, err)
		require.Equal(t, canonicalOracle(t, raw), string(canonical))
		var v any
		require.NoError(t, json.Unmarshal(raw, &v))
		var b strings.Builder
		spell(rand.New(rand.NewPCG(seed, 3)), &b, v)
		again, err := ComputeFingerprint([]byte(b.String()))
		require.NoError(t, err, b.String())
		require.Equal(t, fingerprint, again)
	})
}
