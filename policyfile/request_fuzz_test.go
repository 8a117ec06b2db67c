package policyfile

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// FuzzDecodeRequest: no bytes make it panic; an error has its place in the line; and what is taken is what
// encoding/json reads, of JSON that is strict but for raw definitions.
func FuzzDecodeRequest(f *testing.F) {
	for _, s := range []string{
		`{"tool": {"server": "fs", "name": "write", "annotations": {"readOnlyHint": false}, "fingerprint": "f", "raw": {"a": 1, "a": "\ud800"}},
			"args": {"path": "/data/x", "n": [1.0, null, true]}, "has_approver": true,
			"approved": [{"server": "fs", "name": "write", "fingerprint": "g"}], "taint": ["web"], "attributes": {}}`,
		`{"resource": {"server": "fs", "uri": "file:///\u00e9"}}`, `{"prompt": {"server": "fs", "name": "x"}, "args": null}`,
		`{"tool": {"server": "a", "name": "b"}, "args": {"a": 1, "\u0061": 2}}`, `{"tool": {"server": "a", "name": "b", "annotations": null}}`,
		`{`, `[]`, `null`, ` `, "\xff", `{"tool": {}}`, `{"tool": {"raw": `, `{} {}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		req, err := DecodeRequest(line)
		require.Equal(t, before, line, "it changed its input")
		if err != nil {
			require.Nil(t, req)
			var typed *RequestError
			require.ErrorAs(t, err, &typed)
			require.GreaterOrEqual(t, typed.Offset, int64(0))
			require.LessOrEqual(t, typed.Offset, int64(len(line)))
			return
		}
		if req.Tool.Raw == nil {
			require.True(t, jsontext.Value(line).IsValid())
		} else {
			require.True(t, bytes.Contains(line, req.Tool.Raw))
		}
		var want struct {
			Tool     struct{ Server, Name string }
			Resource struct{ Server, URI string }
			Prompt   struct{ Server, Name string }
			Args     map[string]any
			Taint    []string
			Approved []struct{ Server, Name, Fingerprint string }
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		require.NoError(t, d.Decode(&want))
		require.Equal(t, want.Tool.Server+want.Resource.Server+want.Prompt.Server, req.Server)
		require.Equal(t, want.Tool.Name+want.Prompt.Name, req.Name)
		require.Equal(t, want.Resource.URI, req.URI)
		require.Equal(t, want.Args, req.Call.Args)
		require.Len(t, req.Request.Taint, len(want.Taint))
		require.Equal(t, len(want.Approved), req.Request.Approved.Len())
	})
}
