package approved_test

import (
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/approved"
)

// FuzzParse: a baseline is read or refused, and a damaged one is refused: no beginning of a good file but the whole is
// one itself.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"version": 1, "tools": [{"server": "fs", "name": "write", "fingerprint": "penstock1:00"}]}`,
		`{"version": 1, "tools": []}`, `{"version": 1}`, `{"version": 2, "tools": []}`, `{"version": 1, "tools": [{}]}`, ``, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := approved.Parse("f.json", data)
		if (b == nil) != (err != nil) {
			t.Fatalf("baseline %v, error %v", b, err)
		}
		if err != nil {
			return
		}
		whole := strings.TrimSpace(string(data))
		for n := range whole {
			if _, err := approved.Parse("f.json", []byte(whole[:n])); err == nil {
				t.Fatalf("%q is a baseline, and so is its beginning %q", whole, whole[:n])
			}
		}
	})
}
