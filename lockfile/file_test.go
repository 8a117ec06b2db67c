package lockfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/lockfile"
)

func tool(server, name, definition string) engine.Tool {
	return engine.Tool{Server: server, Name: name, Raw: json.RawMessage(definition)}
}

func newFile(t *testing.T, o lockfile.Options, tools ...engine.Tool) *lockfile.File {
	t.Helper()
	f, refused := lockfile.New(tools, o)
	for _, err := range refused {
		t.Error(err)
	}
	return f
}

func encode(t *testing.T, f *lockfile.File) string {
	t.Helper()
	text, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var sample = []engine.Tool{
	tool("fs", "write", `{"name": "write", "description": "Write a file.", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}, "annotations": {"readOnlyHint": false}}`),
	tool("fs", "read", `{"title": "Read", "name": "read", "outputSchema": {}, "_meta": {"b": 1.0, "a": [1, 2]}, "icons": []}`),
	tool("a", "z/=@ ", `{"name": "z/=@ "}`),
}

func TestFileIsSortedIndentedAndComplete(t *testing.T) {
	want, err := os.ReadFile("testdata/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := encode(t, newFile(t, lockfile.Options{}, sample...)); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	digests := encode(t, newFile(t, lockfile.Options{DigestsOnly: true}, sample...))
	if strings.Contains(digests, "definition") || strings.Count(digests, `"digests"`) != 3 {
		t.Errorf("digests only:\n%s", digests)
	}
}

func TestFileDoesNotDependOnTheOrderOrSpellingOfWhatWasApproved(t *testing.T) {
	want := encode(t, newFile(t, lockfile.Options{}, sample...))
	f := new(lockfile.File)
	for _, tl := range []engine.Tool{
		tool("fs", "read", `{"name": "something else that was approved before"}`),
		sample[2], sample[0],
		tool("fs", "read", `{"icons":[],"_meta":{"a":[1,2.0],"b":1},"outputSchema":{},"name":"\u0072ead","title":"Read"}`),
	} {
		if err := f.Approve(tl); err != nil && !strings.Contains(string(tl.Raw), "something else") {
			t.Error(err)
		}
	}
	if got := encode(t, f); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatDoesNotPrintIsEscaped(t *testing.T) {
	hidden := "a\u202eb\u200b\ufe0f\U000e0041\u00a0\u3164\u2028\u007f\u0001c"
	definition, err := json.Marshal(map[string]any{"name": hidden, "description": hidden + "é删"})
	if err != nil {
		t.Fatal(err)
	}
	text := encode(t, newFile(t, lockfile.Options{}, tool("fs", hidden, string(definition))))
	for _, r := range text {
		if r != '\n' && (r < ' ' || r == 0x7f || strings.ContainsRune(hidden, r) && r > 0x7f) {
			t.Errorf("%U stands in the file as it is", r)
		}
	}
	if !strings.Contains(text, `a\u202eb\u200b\ufe0f\udb40\udc41\u00a0\u3164\u2028\u007f\u0001cé删"`) {
		t.Error(text)
	}
	f, err := lockfile.Decode("f.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := f.Lookup(engine.Target{Server: "fs", Name: hidden}); !ok {
		t.Error("the tool is not found under its name")
	}
}

func TestToolsThatCannotBeApprovedAreNamedAndLeftOut(t *testing.T) {
	for _, c := range []struct {
		tool engine.Tool
		want string
	}{
		{tool("fs", "dup", `{"name": "dup", "a": 1, "a": 2}`), `tool "fs"/"dup": the tool has no fingerprint: byte 24: duplicate key "a"`},
		{tool("fs", "big", `{"name": "big", "n": 9007199254740993}`), `the tool has no fingerprint: byte 21: a float64 changes the number`},
		{tool("fs", "none", ``), `the tool has no fingerprint`},
		{tool("fs", "list", `[]`), `the definition is not an object`},
		{tool("fs", "nameless", `{}`), `the definition has no name`},
		{tool("fs", "number", `{"name": 5}`), `the definition has no name`},
		{tool("fs", "a", `{"name": "b"}`), `the definition is of a tool named "b"`},
		{tool("a b", "x", `{"name": "x"}`), `server id "a b"`},
		{tool("fs", "a\xff", `{"name": "x"}`), `the name is not valid UTF-8`},
		{engine.Tool{Server: "fs", Name: "x", Fingerprint: "penstock1:00"}, `not 64 hexadecimal digits`},
		{engine.Tool{Server: "fs", Name: "x", Fingerprint: "own scheme"}, `not printable ASCII`},
		{engine.Tool{Server: "fs", Name: "x", Fingerprint: engine.Fingerprint(strings.Repeat("x", 1000))}, `longer than`},
	} {
		f, refused := lockfile.New([]engine.Tool{c.tool, sample[0]}, lockfile.Options{})
		if len(refused) != 1 || refused[0].Target != c.tool.Target() || !strings.Contains(refused[0].Error(), c.want) {
			t.Errorf("%v: refused %v, want %q", c.tool.Target(), refused, c.want)
		}
		before := encode(t, f)
		var toolErr *lockfile.ToolError
		if err := f.Approve(c.tool); !errors.As(err, &toolErr) {
			t.Errorf("%v: %v", c.tool.Target(), err)
		}
		if f.Len() != 1 || encode(t, f) != before {
			t.Errorf("%v: the file has changed", c.tool.Target())
		}
	}
	f, refused := lockfile.New([]engine.Tool{sample[0], sample[1], sample[0], sample[0]}, lockfile.Options{})
	if f.Len() != 1 || len(refused) != 1 || !errors.Is(refused[0], lockfile.ErrTwice) {
		t.Errorf("%d tools, refused %v", f.Len(), refused)
	}
}

func TestToolWithAFingerprintOfItsOwnIsKeptByItAlone(t *testing.T) {
	own := sample[0]
	own.Fingerprint = "sha512-of-ours:1234"
	f := newFile(t, lockfile.Options{}, own, engine.Tool{Server: "fs", Name: "x", Fingerprint: "v7"})
	again, err := lockfile.Decode("f.json", []byte(encode(t, f)))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range again.Entries() {
		if e.Digests != nil || e.Definition != nil {
			t.Errorf("%+v", e)
		}
	}
	if got, _ := again.Baseline().Lookup(own.Target()); got != own.Fingerprint {
		t.Errorf("fingerprint %q", got)
	}
	if d := lockfile.Diff(again, []engine.Tool{own}); len(d) != 1 || d[0].Kind != lockfile.Removed {
		t.Errorf("%+v", d)
	}
}

func TestFirstApprovalPinsAndRemovalMakesNew(t *testing.T) {
	var f lockfile.File
	if f.Baseline().Len() != 0 {
		t.Fatal("the zero File approves something")
	}
	if err := f.Approve(sample[0]); err != nil {
		t.Fatal(err)
	}
	print, ok := f.Baseline().Lookup(sample[0].Target())
	if want, _ := engine.ComputeFingerprint(sample[0].Raw); !ok || print != want {
		t.Errorf("fingerprint %q, want %q", print, want)
	}
	if !f.Remove(sample[0].Target()) || f.Remove(sample[0].Target()) || f.Len() != 0 {
		t.Error("Remove")
	}
}

func TestApproveKeepsTheFormOfTheFile(t *testing.T) {
	for _, digestsOnly := range []bool{false, true} {
		text := encode(t, newFile(t, lockfile.Options{DigestsOnly: digestsOnly}, sample[0]))
		f, err := lockfile.Decode("f.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Approve(sample[1]); err != nil {
			t.Fatal(err)
		}
		if e, _ := f.Lookup(sample[1].Target()); (e.Definition == nil) != digestsOnly || e.Digests == nil {
			t.Errorf("digests only: %v, entry %+v", digestsOnly, e)
		}
	}
}

// realTools are all tools of testdata.
func realTools(t testing.TB) (tools []engine.Tool, servers []string) {
	t.Helper()
	files, err := filepath.Glob("../testdata/catalogs/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no catalogs", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatal(file, err)
		}
		server := strings.TrimSuffix(filepath.Base(file), ".json")
		servers = append(servers, server)
		for _, raw := range list.Tools {
			var named struct{ Name string }
			if err := json.Unmarshal(raw, &named); err != nil {
				t.Fatal(file, err)
			}
			tools = append(tools, engine.Tool{Server: server, Name: named.Name, Raw: raw})
		}
	}
	return tools, servers
}

func TestRealCatalogsComeBackAsTheyWere(t *testing.T) {
	tools, servers := realTools(t)
	f := newFile(t, lockfile.Options{}, tools...)
	if f.Len() != 4133 {
		t.Fatalf("%d tools", f.Len())
	}
	text, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(text))
	again, err := lockfile.Decode("f.json", text)
	if err != nil {
		t.Fatal(err)
	}
	second, err := again.Encode()
	if err != nil || !bytes.Equal(text, second) {
		t.Errorf("the text changes when it is read and written: %v", err)
	}
	if d := lockfile.Diff(again, tools, servers...); len(d) != 0 {
		t.Errorf("%d differences", len(d))
	}
	if again.Baseline().Len() != 4133 {
		t.Error("the baseline lacks tools")
	}
}
