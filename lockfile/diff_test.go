package lockfile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/lockfile"
)

// show writes changes on a line each.
func show(changes []lockfile.Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s %s/%s", c.Kind, c.Target.Server, c.Target.Name)
		for _, p := range c.Components {
			fmt.Fprintf(&b, " %s:%s(%s>%s)", p.Kind, p.Component, p.Old, p.New)
		}
		if c.Err != nil {
			fmt.Fprintf(&b, " !%v", c.Err)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestDiffSaysWhatChanged(t *testing.T) {
	old := []engine.Tool{
		tool("fs", "same", `{"name": "same", "description": "d"}`),
		tool("fs", "moved", `{"name": "moved", "description": "a", "title": "T", "x": 1}`),
		tool("fs", "gone", `{"name": "gone", "title": "G"}`),
		tool("web", "other", `{"name": "other"}`),
	}
	now := []engine.Tool{
		tool("fs", "same", `{"description": "\u0064", "name": "same"}`),
		tool("fs", "moved", `{"name": "moved", "description": "b", "annotations": {}, "x": 1, "y": [2]}`),
		tool("fs", "extra", `{"name": "extra", "inputSchema": {}}`),
		tool("fs", "bad", `{"name": "bad", "a": 1, "a": 2}`),
		tool("fs", "twice", `{"name": "twice"}`), tool("fs", "twice", `{"name": "twice"}`),
	}
	whole := newFile(t, lockfile.Options{}, old...)
	const unusable = `unusable fs/bad !the tool has no fingerprint: byte 24: duplicate key "a"
`
	const twice = "unusable fs/twice !it stands twice\n"
	want := unusable + `added fs/extra added:input_schema(>{})
removed fs/gone removed:title("G">)
changed fs/moved changed:description("a">"b") added:annotations(>{}) removed:title("T">) changed:rest({"x":1}>{"x":1,"y":[2]})
` + twice
	if got := show(lockfile.Diff(whole, now)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := show(lockfile.Diff(whole, now, "fs", "web")); got != want+"removed web/other\n" {
		t.Errorf("with web:\n%s", got)
	}
	if got := show(lockfile.Diff(whole, now, "none")); strings.Contains(got, "removed fs") {
		t.Errorf("of an incomplete list:\n%s", got)
	}

	digests := newFile(t, lockfile.Options{DigestsOnly: true}, old...)
	want = unusable + `added fs/extra added:input_schema(>{})
removed fs/gone removed:title(>)
changed fs/moved changed:description(>"b") added:annotations(>{}) removed:title(>) changed:rest(>{"x":1,"y":[2]})
` + twice
	if got := show(lockfile.Diff(digests, now)); got != want {
		t.Errorf("digests only: got\n%s\nwant\n%s", got, want)
	}

	bare := new(lockfile.File)
	for _, o := range old {
		fp, err := engine.ComputeFingerprint(o.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := bare.Approve(engine.Tool{Server: o.Server, Name: o.Name, Fingerprint: fp}); err != nil {
			t.Fatal(err)
		}
	}
	want = unusable + "added fs/extra added:input_schema(>{})\nremoved fs/gone\nchanged fs/moved\n" + twice
	if got := show(lockfile.Diff(bare, now)); got != want {
		t.Errorf("fingerprints only: got\n%s\nwant\n%s", got, want)
	}
}

func TestDiffNoticesDigestsThatBelongToSomethingElse(t *testing.T) {
	approved, now := `{"name": "x", "description": "approved"}`, `{"name": "x", "description": "now"}`
	digests := lockfile.Options{DigestsOnly: true}
	text := func(definition string) string {
		return encode(t, newFile(t, digests, tool("fs", "x", definition)))
	}
	value := func(text, key string) string {
		_, rest, _ := strings.Cut(text, `"`+key+`": "`)
		v, _, _ := strings.Cut(rest, `"`)
		return v
	}
	// The approved fingerprint with the digests of what the tool is now would hide what changed.
	forged := strings.Replace(text(approved), value(text(approved), "description"), value(text(now), "description"), 1)
	f, err := lockfile.Decode("f.json", []byte(forged))
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range []string{approved, now} {
		d := lockfile.Diff(f, []engine.Tool{tool("fs", "x", definition)})
		if len(d) != 1 || d[0].Kind != lockfile.Changed || !errors.Is(d[0].Err, lockfile.ErrMismatch) {
			t.Errorf("%s: %s", definition, show(d))
		}
	}
}
