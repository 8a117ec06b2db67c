package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFingerprintIsTheSchemeAndTheHashOfTheCanonicalForm(t *testing.T) {
	const raw = `{"name": "read", "inputSchema": {"type": "object"}, "description": "Reads \u0061 file."}`
	f, err := ComputeFingerprint([]byte(raw))
	require.NoError(t, err)
	sum := sha256.Sum256([]byte("penstock tool definition v1\n" +
		`{"description":"Reads a file.","inputSchema":{"type":"object"},"name":"read"}`))
	assert.Equal(t, Fingerprint("penstock1:"+hex.EncodeToString(sum[:])), f)
	assert.Equal(t, Fingerprint("penstock1:5c80797f0a852f81a3effaeb4114bf87d768f15815cf85fad80f7f30eb3b8adc"), f,
		"approved baselines hold this value; it never changes within a version")
}

func TestCanonicalFormOfRFC8785(t *testing.T) {
	for in, want := range map[string]string{
		`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
		  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`: "",
		`{"numbers": [1E30, 4.50, 2e-3, 0.000000000000000000000000001],
		  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`: `{"literals":[null,true,false],"numbers":[1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`: `{"\r":2,"1":4,"` + "\u0080" + `":6,"ö":7,"€":1,"😀":5,"` + "\ufb33" + `":3}`,
		` [ -0 , -0.0e7, 0e999999999999, 1.0, 100e-2, 1e20, 1e21, 1e-6, 1e-7 ] `:      `[0,0,0,1,1,100000000000000000000,1e+21,0.000001,1e-7]`,
		`"\u2028\u007f<>&"`: "\"\u2028\u007f<>&\"",
		`null`:              `null`, ` true `: `true`, `""`: `""`, `{}`: `{}`, `[]`: `[]`, `-5`: `-5`, "\t12\n": `12`,
	} {
		got, err := CanonicalJSON([]byte(in))
		if want == "" {
			// The example of the RFC rounds its first number; here nothing is rounded.
			require.ErrorIs(t, err, ErrInexactNumber)
			continue
		}
		require.NoError(t, err, in)
		assert.Equal(t, want, string(got))
		assert.Equal(t, want, canonicalOracle(t, []byte(in)), "the oracle is right")
		again, err := CanonicalJSON(got)
		require.NoError(t, err)
		assert.Equal(t, string(got), string(again))
	}
}

func TestWhatHasNoFingerprintSaysWhyAndWhere(t *testing.T) {
	deep := strings.Repeat(`[`, 128) + strings.Repeat(`]`, 128)
	_, err := ComputeFingerprint([]byte(deep))
	require.NoError(t, err, "nesting of 128 is allowed")
	long := strings.Repeat("1", 100)
	for _, c := range []struct {
		in, want string
		is       error
	}{
		{``, `byte 0: there is no JSON value`, ErrNoValue},
		{" \n\t", `byte 0: there is no JSON value`, ErrNoValue},
		{`{"a":1,"b":{"c":1,"c":2}}`, `byte 18: duplicate key "c"`, ErrDuplicateKey},
		{`{"a":1,"\u0061":1}`, `byte 7: duplicate key "a"`, ErrDuplicateKey},
		{`{"` + long + `":1,"` + long + `":1}`, `byte 106: duplicate key "` + long[:40] + `…"`, ErrDuplicateKey},
		{"{\"a\":\"x\xff\"}", "byte 7: not JSON: invalid UTF-8", ErrSyntax},
		{"\"\xed\xa0\x80\"", "byte 1: not JSON: invalid UTF-8", ErrSyntax},
		{`["\ud800"]`, "byte 2: not JSON: invalid surrogate pair `\\ud800\"]` in string", ErrSyntax},
		{`["\udc00\ud800"]`, "byte 2: not JSON: invalid surrogate pair `\\udc00\\ud800` in string", ErrSyntax},
		{`[` + deep + `]`, `byte 128: nested deeper than 128`, ErrTooDeep},
		{strings.Repeat(`{"a":`, 129), `byte 640: nested deeper than 128`, ErrTooDeep},
		{`{"max": 9007199254740993}`, `byte 8: a float64 changes the number: 9007199254740993`, ErrInexactNumber},
		{`[1, 1e400]`, `byte 4: a float64 changes the number: 1e400`, ErrInexactNumber},
		{`[-1e400]`, `byte 1: a float64 changes the number: -1e400`, ErrInexactNumber},
		{`1e-400`, `byte 0: a float64 changes the number: 1e-400`, ErrInexactNumber},
		{`[0.1, 0.10000000000000001]`, `byte 6: a float64 changes the number: 0.10000000000000001`, ErrInexactNumber},
		{`[` + long + `]`, `byte 1: a float64 changes the number: ` + long[:40] + `…`, ErrInexactNumber},
		{`{} {}`, `byte 2: data behind the JSON value`, ErrTrailingData},
		{`{}}`, `byte 2: data behind the JSON value`, ErrTrailingData},
		{`1 x`, `byte 1: data behind the JSON value`, ErrTrailingData},
		{"{}\x00", `byte 2: data behind the JSON value`, ErrTrailingData},
		{`{"a":1`, `byte 6: not JSON: unexpected EOF`, ErrSyntax},
		{`{"a":1,}`, "byte 6: not JSON: invalid character ',' at start of value", ErrSyntax},
		{`{a:1}`, "byte 1: not JSON: invalid character 'a' at start of value", ErrSyntax},
		{`[01]`, "byte 2: not JSON: invalid character '1' after array element (expecting ',' or ']')", ErrSyntax},
		{`[NaN]`, "byte 1: not JSON: invalid character 'N' at start of value", ErrSyntax},
		{`[1.]`, "byte 3: not JSON: invalid character ']' in number (expecting digit)", ErrSyntax},
		{"\"a\nb\"", "byte 2: not JSON: invalid character '\\n' in string (expecting non-control character)", ErrSyntax},
		{"\ufeff{}", "byte 0: not JSON: invalid character '\\ufeff' at start of value", ErrSyntax},
	} {
		raw := []byte(c.in)
		f, err := ComputeFingerprint(raw)
		assert.Empty(t, f)
		assert.EqualError(t, err, c.want, "%.60s", c.in)
		assert.ErrorIs(t, err, c.is, "%.60s", c.in)
		var typed *JSONError
		assert.ErrorAs(t, err, &typed)
		assert.Equal(t, c.in, string(raw), "the input is left alone")
	}
}

// spell writes v as JSON with its keys in any order and every freedom of spelling that JSON gives.
func spell(r *rand.Rand, b *strings.Builder, v any) {
	space := func() { b.WriteString([]string{"", "", " ", "\n", "\t\r "}[r.IntN(5)]) }
	space()
	defer space()
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			spell(r, b, k)
			b.WriteByte(':')
			spell(r, b, v[k])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			spell(r, b, v[i])
		}
		b.WriteByte(']')
	case string:
		b.WriteByte('"')
		for _, c := range v {
			if r.IntN(3) > 0 && c >= 0x20 && c != '"' && c != '\\' {
				b.WriteRune(c)
				continue
			}
			for _, unit := range utf16.Encode([]rune{c}) {
				fmt.Fprintf(b, []string{`\u%04x`, `\u%04X`}[r.IntN(2)], unit)
			}
		}
		b.WriteByte('"')
	case float64:
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if r.IntN(2) == 0 {
			text = respell(r, text)
		}
		b.WriteString(text)
	default:
		text, _ := json.Marshal(v)
		b.Write(text)
	}
}

// randomValue returns a JSON value as encoding/json decodes one.
func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(10); {
	case n < 2 && depth > 0:
		m := map[string]any{}
		for range r.IntN(5) {
			m[randomText(r)] = randomValue(r, depth-1)
		}
		return m
	case n < 4 && depth > 0:
		l := []any{}
		for range r.IntN(5) {
			l = append(l, randomValue(r, depth-1))
		}
		return l
	case n < 6:
		return randomText(r)
	case n < 8:
		return []float64{0, 1, -1, 0.1, 10, 1e21, 1e-7, 4.5, 123456789, 1 << 53}[r.IntN(10)]
	case n == 8:
		return r.IntN(2) == 0
	default:
		return nil
	}
}

func randomText(r *rand.Rand) string {
	letters := []rune("abAB01\"\\\n\u0000\u007f\u0080äß€\ufb33\ufffd😀𝒳")
	s := make([]rune, r.IntN(4))
	for i := range s {
		s[i] = letters[r.IntN(len(letters))]
	}
	return string(s)
}

// change returns a copy of v with one value changed, added or removed somewhere.
func change(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := map[string]any{}
		keys := make([]string, 0, len(v))
		for k := range v {
			c[k] = v[k]
			keys = append(keys, k)
		}
		sort.Strings(keys)
		if len(keys) == 0 || r.IntN(4) == 0 {
			c["new "+randomText(r)] = nil
			return c
		}
		k := keys[r.IntN(len(keys))]
		if r.IntN(4) == 0 {
			delete(c, k)
		} else {
			c[k] = change(r, c[k])
		}
		return c
	case []any:
		c := append([]any{}, v...)
		if len(c) == 0 || r.IntN(4) == 0 {
			return append(c, nil)
		}
		i := r.IntN(len(c))
		c[i] = change(r, c[i])
		return c
	case string:
		return v + "x"
	case float64:
		return v + 1e6 + v*2
	case bool:
		return !v
	default:
		return false
	}
}

func TestSpellingDoesNotChangeAFingerprintAndValuesDo(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	respelled := 0
	for range 3_000 {
		v := randomValue(r, 4)
		var a, b, c strings.Builder
		spell(r, &a, v)
		spell(r, &b, v)
		spell(r, &c, change(r, v))
		x, err := ComputeFingerprint([]byte(a.String()))
		require.NoError(t, err, a.String())
		y, err := ComputeFingerprint([]byte(b.String()))
		require.NoError(t, err, b.String())
		z, err := ComputeFingerprint([]byte(c.String()))
		require.NoError(t, err, c.String())
		require.Equal(t, x, y, "%s\n%s", a.String(), b.String())
		require.NotEqual(t, x, z, "%s\n%s", a.String(), c.String())
		canonical, err := CanonicalJSON([]byte(a.String()))
		require.NoError(t, err)
		require.Equal(t, canonicalOracle(t, []byte(a.String())), string(canonical))
		if a.String() != b.String() {
			respelled++
		}
	}
	assert.Greater(t, respelled, 1_000)
}

// strconv stops reading an exponent of more than a few digits, and would take these for zero or for something huge.
func TestNumbersWithManyDigitsAndALongExponentAreTheirValue(t *testing.T) {
	for _, zeros := range []int{9_990, 10_000, 20_000, 100_000} {
		for _, c := range []struct{ in, want string }{
			{fmt.Sprintf("0.%s1e%d", strings.Repeat("0", zeros), zeros+1), "1"},
			{fmt.Sprintf("-0.%s25e%d", strings.Repeat("0", zeros), zeros), "-0.25"},
			{fmt.Sprintf("7%se-%d", strings.Repeat("0", zeros), zeros), "7"},
			{fmt.Sprintf("7%se-0000%d", strings.Repeat("0", zeros), zeros-2), "700"},
		} {
			got, err := CanonicalJSON([]byte(`{"n":` + c.in + `}`))
			require.NoError(t, err, "%.20s… with %d zeros", c.in, zeros)
			assert.Equal(t, `{"n":`+c.want+`}`, string(got), "%.20s… with %d zeros", c.in, zeros)
		}
	}
}

func TestHostileDefinitionsCostNoMoreThanTheirLength(t *testing.T) {
	var keys strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&keys, `,"%d":{"b":1,"a":2}`, 100_000-i)
	}
	start := time.Now()
	for name, raw := range map[string]string{
		"digits":    strings.Repeat("7", 10<<20),
		"zeros":     "1" + strings.Repeat("0", 10<<20),
		"exponent":  "1e" + strings.Repeat("9", 1<<20),
		"exponent2": "[1e999999999, 1e-999999999]",
		"fraction":  "0." + strings.Repeat("0", 1<<20) + "1e1048577",
		"brackets":  strings.Repeat("[", 10<<20),
		"braces":    strings.Repeat(`{"":`, 1<<20),
		"string":    `"` + strings.Repeat(`\u0041`, 1<<20) + `"`,
		"keys":      "{" + keys.String()[1:] + "}",
		"numbers":   "[" + strings.Repeat("0.1,", 1<<19) + "1]",
	} {
		from := time.Now()
		_, err := ComputeFingerprint([]byte(raw))
		t.Logf("%s: %v, %v", name, time.Since(from), err)
	}
	assert.Less(t, time.Since(start), 60*time.Second, "all of this is a few seconds on a slow machine")
}

func TestJSONErrorUnwraps(t *testing.T) {
	cause := errors.New("cause")
	assert.ErrorIs(t, &JSONError{Offset: 3, Err: cause}, cause)
}

func TestEveryRealDefinitionHasAFingerprint(t *testing.T) {
	files, err := filepath.Glob("../testdata/catalogs/*.json")
	require.NoError(t, err)
	seen := map[Fingerprint]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var catalog struct{ Tools []json.RawMessage }
		require.NoError(t, json.Unmarshal(text, &catalog))
		for _, raw := range catalog.Tools {
			f, err := ComputeFingerprint(raw)
			require.NoError(t, err, "%s: %s", file, raw)
			canonical := canonicalOracle(t, raw)
			if other, ok := seen[f]; ok {
				require.Equal(t, other, canonical, "two definitions with one fingerprint")
			}
			seen[f] = canonical
			var tool struct{ Annotations json.RawMessage }
			require.NoError(t, json.Unmarshal(raw, &tool))
			_, err = HintsFromJSON(tool.Annotations)
			require.NoError(t, err, "%s: %s", file, raw)
		}
	}
	require.Greater(t, len(seen), 4_000)
}
