package catalog_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/catalog"
	"github.com/penstock-mcp/penstock/cmd/penstock/internal/source"
	"github.com/penstock-mcp/penstock/engine"
)

// FuzzParse: whatever a server sent, a catalog is read or refused with a place in the file; each definition is byte for
// byte in the file, and whatever is read is the same when it is read as the result of a response.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"tools": [{"name": "x", "annotations": {"readOnlyHint": true}, "inputSchema": {}}]}`,
		`{"result": {"tools": [], "resources": ["a://b", {"uri": "c"}], "prompts": [{"name": "p"}], "nextCursor": "z"}}`,
		`{"tools": [{"name": "x", "name": "y"}]}`, `{"tools": [{"name": "\ud800"}]}`, `{"error": {}}`, `[`, ``, "{}\n{}",
		"{\"tools\": [{\"name\": \"a\xff\"}]}", `{"tools": [{"name": "x", "annotations": {"a": 1, "a": 2}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kept := bytes.Clone(data)
		c, err := catalog.Parse("s", "f.json", data)
		if !bytes.Equal(data, kept) {
			t.Fatal("Parse changed its input")
		}
		if err != nil {
			var at *source.Error
			if c != nil || !errors.As(err, &at) {
				t.Fatalf("catalog %v, error %v", c, err)
			}
			if at.Offset < 0 || at.Offset > int64(len(data)) || at.Line < 1 || at.Column < 1 ||
				at.Line > 1+bytes.Count(data, []byte("\n")) || at.Column > len(data)+1 {
				t.Fatalf("no such place: %+v", at)
			}
			return
		}
		approved := catalog.Baseline([]*catalog.Catalog{c})
		if n := len(approved.Targets()); n != len(c.Tools)-len(c.Quarantined) {
			t.Fatalf("%d tools are approved of %d, %d of them quarantined", n, len(c.Tools), len(c.Quarantined))
		}
		for i := range c.Tools {
			tool := &c.Tools[i]
			if tool.Server != "s" || !bytes.Contains(data, tool.Raw) {
				t.Fatalf("tool %+v is not in the file", tool)
			}
			if want, err := engine.ComputeFingerprint(tool.Raw); tool.Fingerprint != want && err == nil {
				t.Fatalf("fingerprint %s, want %s", tool.Fingerprint, want)
			}
		}
		if bytes.Contains(data, []byte("result")) {
			return // it may be wrapped already
		}
		wrapped := append(append([]byte(`{"jsonrpc": "2.0", "result": `), data...), '}')
		again, err := catalog.Parse("s", "f.json", wrapped)
		if err != nil {
			t.Fatalf("wrapped: %v", err)
		}
		if len(again.Tools) != len(c.Tools) || len(again.Resources) != len(c.Resources) || len(again.Prompts) != len(c.Prompts) {
			t.Fatalf("wrapped: %+v, plain: %+v", again, c)
		}
	})
}
