package hub

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
)

func TestArgumentsThatCanBeReadInTwoWaysAreRefused(t *testing.T) {
	for _, raw := range []string{
		`[]`, `"x"`, `1`, `true`, ` `, `{`, `{} {}`, `{"a":1,"a":1}`, `{"a":{"b":1,"\u0062":2}}`, `{"a":"\ud800"}`,
		"{\"a\":\"\xff\"}", `{"a":1e400}`, `{"a":9007199254740993}`, `{"a":01}`, `{'a':1}`, `{"a":NaN}`,
		strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200),
		`{"a":"` + strings.Repeat("x", maxArguments) + `"}`,
	} {
		if a, err := ParseArguments([]byte(raw)); err == nil || a.JSON != nil || a.Values != nil {
			t.Errorf("%.80s: %s, %v", raw, a.JSON, err)
		}
	}
	for _, raw := range []string{``, `null`, ` null `} {
		if a, err := ParseArguments([]byte(raw)); err != nil || a.JSON != nil || a.Values != nil || a.Digest() != "" {
			t.Errorf("%q: %v, %v", raw, a, err)
		}
	}
}

// FuzzArguments: what is judged is what is sent. The values and the bytes are the same value, as a reader sees it that
// takes the first of two keys, and as one that takes the last: there are no two.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{"path":"/data/x","n":1.0}`, `{"a":1,"a":2}`, `{"a":{"b":[1,2,{"c":null}]}}`, `{"a":"\ud83d\ude00"}`, `null`, ``,
		`{"K":1,"\u212a":2}`, `{"a":1e2,"b":-0,"c":0.1}`, `[1]`, `{"a":9007199254740993}`, "{\"\x7f\":\"\u2028\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		a, err := ParseArguments(raw)
		if !bytes.Equal(raw, before) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			if a.JSON != nil || a.Values != nil {
				t.Fatal("refused, but there is something")
			}
			return
		}
		if a.JSON == nil {
			if a.Values != nil {
				t.Fatal("judged, but not sent")
			}
			return
		}
		written, err := json.Marshal(a.Values)
		if err != nil {
			t.Fatal(err)
		}
		judged, err := engine.CanonicalJSON(written)
		if err != nil || !bytes.Equal(judged, a.JSON) {
			t.Fatalf("judged %s, sent %s: %v", judged, a.JSON, err)
		}
		again, err := ParseArguments(a.JSON)
		if err != nil || !bytes.Equal(again.JSON, a.JSON) || again.Digest() != a.Digest() {
			t.Fatalf("sent %s, read as %s: %v", a.JSON, again.JSON, err)
		}
		// The plainest reader there is, on what came in: where the input was taken, both read the same value.
		var plain any
		if err := json.Unmarshal(raw, &plain); err != nil {
			t.Fatalf("taken, but not JSON: %v", err)
		}
		plainJSON, _ := json.Marshal(plain)
		if c, err := engine.CanonicalJSON(plainJSON); err != nil || !bytes.Equal(c, a.JSON) {
			t.Fatalf("came as %s, sent as %s: %v", c, a.JSON, err)
		}
	})
}
