package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// canonicalOracle is RFC 8785 by way of encoding/json: decode with UseNumber, sort by UTF-16 units, write. It trusts that
// the text is strict JSON with exact numbers.
func canonicalOracle(t testing.TB, raw []byte) string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	require.NoError(t, dec.Decode(&v))
	var b strings.Builder
	writeOracle(t, &b, v)
	return b.String()
}

func writeOracle(t testing.TB, b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Slice(keys, func(i, j int) bool {
			x, y := utf16.Encode([]rune(keys[i])), utf16.Encode([]rune(keys[j]))
			for n := 0; n < len(x) && n < len(y); n++ {
				if x[n] != y[n] {
					return x[n] < y[n]
				}
			}
			return len(x) < len(y)
		})
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			writeOracle(t, b, k)
			b.WriteByte(':')
			writeOracle(t, b, v[k])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeOracle(t, b, v[i])
		}
		b.WriteByte(']')
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		require.NoError(t, err)
		text, err := json.Marshal(f) // encoding/json writes floats as ECMAScript does
		require.NoError(t, err)
		if string(text) == "-0" {
			text = []byte("0")
		}
		b.Write(text)
	case string:
		b.WriteByte('"')
		for _, r := range v {
			switch {
			case r == '"' || r == '\\':
				b.WriteByte('\\')
				b.WriteRune(r)
			case strings.ContainsRune("\b\t\n\f\r", r):
				b.WriteString(map[rune]string{'\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`}[r])
			case r < 0x20:
				fmt.Fprintf(b, `\u%04x`, r)
			default:
				b.WriteRune(r)
			}
		}
		b.WriteByte('"')
	default:
		text, err := json.Marshal(v)
		require.NoError(t, err)
		b.Write(text)
	}
}
