package lockfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/lockfile"
)

const zeros = "0000000000000000000000000000000000000000000000000000000000000000"

func TestSmallestFiles(t *testing.T) {
	for _, text := range []string{
		`{"version":1,"tools":[]}`,
		" {\"tools\": [\n\n], \"version\": 1}\r\n",
		`{"version": 1, "tools": [{"server": "fs", "name": "x", "fingerprint": "penstock1:` + zeros + `"}]}`,
		`{"version": 1, "tools": [{"server": "b", "name": "x", "fingerprint": "v1"}, {"server": "a", "name": "x", "fingerprint": "v1"}]}`,
	} {
		f, err := lockfile.Decode("f.json", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		last := ""
		for _, e := range f.Entries() {
			if e.Server < last {
				t.Errorf("%s: not sorted", text)
			}
			last = e.Server
		}
	}
}

func TestDamagedFilesAreErrorsWithTheirPlace(t *testing.T) {
	good, err := os.ReadFile("testdata/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	// An entry for the fingerprint of {"name":"x"}.
	entry := func(more string) string {
		return `{"version": 1, "tools": [{"server": "fs", "name": "x", ` + more + `}]}`
	}
	fp := `"fingerprint": "penstock1:` + zeros + `"`
	for _, c := range []struct{ text, want string }{
		{"", "f.json:1:1: the file is empty"},
		{" \n\t", "f.json:1:1: the file is empty"},
		{"null", "f.json:1:1: a baseline is an object, not null"},
		{"[]", "f.json:1:1: a baseline is an object, not a list"},
		{"{", "f.json:1:2: the file ends too early"},
		{"{}", `f.json:1:1: the key "version" is missing`},
		{"{}", `f.json:1:1: the key "tools" is missing`},
		{`{"version": 1}`, `f.json:1:1: the key "tools" is missing`},
		{`{"tools": []}`, `f.json:1:1: the key "version" is missing`},
		{`{"version": 2, "tools": []}`, "f.json:1:13: baseline version 2: this penstock reads version 1"},
		{`{"version": "1", "tools": []}`, "f.json:1:13: version: want a number, not a string"},
		{`{"version": 1, "tools": null}`, "f.json:1:25: tools: want a list, not null"},
		{`{"version": 1, "tools": {}}`, "f.json:1:25: tools: want a list, not an object"},
		{`{"version": 1, "tools": [], "tools": []}`, `f.json:1:29: the key "tools" stands twice`},
		{`{"version": 1, "tool": []}`, `f.json:1:16: unknown key "tool" (the keys here are version, tools)`},
		{`{"version": 1, "tools": []}` + "\n{}", "f.json:2:1: more data behind the baseline"},
		{`{"version": 1, "tools": []} x`, "f.json:1:29: more data behind the baseline"},
		{"\uFEFF{}", "f.json:1:1: a byte order mark"},
		{"{\n\"a\xff\": 1}", "f.json:2:3: the file is not UTF-8"},
		{"{\n<<<<<<< ours\n", "f.json:2:1: a merge conflict is not resolved here"},
		{"{\"version\": 1,\n=======\n", "f.json:2:1: a merge conflict is not resolved here"},
		{`{"version": 1, "tools": [1]}`, "f.json:1:26: tools[0]: a tool is an object, not a number"},
		{`{"version": 1, "tools": [{"name": "x"}]}`, "f.json:1:26: tools[0]: missing: server, fingerprint"},
		{entry(`"fingerprint": 5`), "f.json:1:71: tools[0].fingerprint: want a string, not a number"},
		{entry(`"fingerprint": ""`), "f.json:1:71: tools[0]: the fingerprint is empty"},
		{entry(`"fingerprint": "penstock1:ABCD"`), "tools[0]: the fingerprint is not 64 hexadecimal digits in lower case"},
		{entry(`"fingerprint": "a b"`), "tools[0]: the fingerprint"},
		{entry(fp + `, "hash": 1`), `unknown key "hash" (the keys here are server, name, fingerprint, digests, definition)`},
		{entry(fp + `, "digests": null`), "tools[0].digests: want an object, not null"},
		{entry(fp + `, "digests": {"titel": ""}`), `tools[0].digests: unknown key "titel"`},
		{entry(fp + `, "digests": {"title": 1}`), `tools[0].digests.title: want a string, not a number`},
		{entry(fp + `, "digests": {"title": "` + zeros + `"}`), `tools[0].digests.title: a digest begins with "digest1:"`},
		{entry(fp + `, "digests": {"title": "digest1:00"}`), `tools[0].digests.title: the digest is not 64`},
		{entry(fp + `, "definition": []`), "tools[0].definition: want an object, not a list"},
		{entry(fp + `, "definition": {"name": "x", "n": 1e999}`), "f.json:1:182: tools[0].definition: a float64 changes the number"},
		{entry(fp + `, "definition": {"name": "x", "name": "x"}`), `the key "name" stands twice`},
		{entry(fp + `, "definition": {}`), `tools[0] "fs"/"x": the definition has no name`},
		{entry(fp + `, "definition": {"name": "x"}`), `tools[0] "fs"/"x": the definition's fingerprint is penstock1:`},
		{`{"version": 1, "tools": [{"server": "a b", "name": "x", ` + fp + `}]}`, `f.json:1:37: tools[0]: server id "a b"`},
		{`{"version": 1, "tools": [{"server": "a", "name": "\ud800", ` + fp + `}]}`, `f.json:1:`},
		{`{"version": 1, "tools": [` + "\n" + `{"server": "a", "name": "x", ` + fp + `},{"server": "a", "name": "x", ` + fp + `}]}`,
			`tools[1] "a"/"x": it stands twice (first in line 2)`},
		{strings.Replace(string(good), "Write a file.", "Write any file.", 1), `f.json:39:22: tools[2] "fs"/"write": the definition's fingerprint is penstock1:`},
		{strings.Replace(string(good), "Write a file.", "Write any file.", 1), `tools[2] "fs"/"write": the digest of the definition's description is digest1:`},
		{strings.Replace(string(good), `        "annotations": "digest1:`, `        "title": "digest1:`, 1), `the definition has no part title (edited by hand?)`},
		{strings.Replace(string(good), `        "annotations": "digest1:`, `        "title": "digest1:`, 1), `the definition has a part annotations, and the digests have not (edited by hand?)`},
		{strings.Replace(string(good), `"name": "read",`, `"name": "reed",`, 1), `the definition is of a tool named "read" (edited by hand?)`},
	} {
		f, err := lockfile.Decode("f.json", []byte(c.text))
		if err == nil || f != nil {
			t.Errorf("%.80q is a baseline", c.text)
			continue
		}
		found := false
		for line := range strings.Lines(err.Error()) {
			found = found || strings.HasPrefix(line, c.want) || !strings.HasPrefix(c.want, "f.json:") && strings.Contains(line, c.want)
		}
		if !found {
			t.Errorf("%.120q:\n%v\nwant %s", c.text, err, c.want)
		}
	}
}

// An entry may be kept by its fingerprint, by its digests or with its definition: none of them may stand twice, beside
// each other or apart.
func TestNoToolStandsTwiceWhateverItIsKeptBy(t *testing.T) {
	tool := func(name, more string) engine.Tool {
		return engine.Tool{Server: "fs", Name: name, Raw: []byte(`{"name":"` + name + `"` + more + `}`)}
	}
	entries := map[string]string{}
	for what, o := range map[string]lockfile.Options{"definition": {}, "digests": {DigestsOnly: true}} {
		f, refused := lockfile.New([]engine.Tool{tool("x", `,"title":"X"`)}, o)
		if len(refused) > 0 {
			t.Fatal(refused)
		}
		text, err := f.Encode()
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ = bytes.Cut(text, []byte("["))
		text = text[:bytes.LastIndexByte(text, ']')]
		entries[what] = string(text)
	}
	entries["fingerprint"] = `{"server": "fs", "name": "x", "fingerprint": "v1"}`
	for a, first := range entries {
		for b, second := range entries {
			for _, between := range []string{"", `{"server": "a", "name": "x", "fingerprint": "v1"},`} {
				_, err := lockfile.Decode("f.json", []byte(`{"version": 1, "tools": [`+first+","+between+second+"]}"))
				if !errors.Is(err, lockfile.ErrTwice) {
					t.Errorf("%s and %s: %v", a, b, err)
				}
			}
		}
		if _, err := lockfile.Decode("f.json", []byte(`{"version": 1, "tools": [`+first+"]}")); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
}

func TestEverythingThatIsWrongIsReportedInOrder(t *testing.T) {
	_, err := lockfile.Decode("f.json", []byte(`{"version": 3, "tools": [{}, {"server": ""}, 5], "x": [`))
	var all *lockfile.Error
	if !errors.As(err, &all) || len(all.Entries) != 7 {
		t.Fatalf("%v", err)
	}
	for i, e := range all.Entries[1:] {
		if e.Position.Column < all.Entries[i].Position.Column {
			t.Errorf("out of order:\n%v", err)
		}
	}
}

func TestHostileFilesHaveABoundedError(t *testing.T) {
	_, err := lockfile.Decode("f.json", []byte(`{"version": 1, "tools": [`+strings.Repeat("1,\n", 100_000)+`1]}`))
	if n := strings.Count(err.Error(), "\n"); n > 60 || !strings.Contains(err.Error(), "and 99951 more problems") {
		t.Errorf("%d lines: %.200s", n, err)
	}
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	if _, err := lockfile.Decode("f.json", []byte(`{"version": 1, "tools": [{"server": "a", "name": "x", "fingerprint": "v1", "definition": {"name": "x", "d": `+deep+`}}]}`)); err == nil {
		t.Error("deep nesting is taken")
	}
	if _, err := lockfile.Decode("f.json", make([]byte, lockfile.MaxSize+1)); !errors.Is(err, lockfile.ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestEveryProperPrefixIsAnError(t *testing.T) {
	good, err := os.ReadFile("testdata/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimRight(string(good), "\n")
	if _, err := lockfile.Decode("f.json", []byte(text)); err != nil {
		t.Fatal(err)
	}
	for n := range text {
		if _, err := lockfile.Decode("f.json", []byte(text[:n])); err == nil {
			t.Fatalf("the first %d bytes are a baseline", n)
		}
	}
}

func TestNoByteOfADefinitionCanBeChangedUnseen(t *testing.T) {
	good, err := os.ReadFile("testdata/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := lockfile.Decode("f.json", good)
	if err != nil {
		t.Fatal(err)
	}
	refused, same := 0, 0
	for i := range good {
		for _, c := range []byte("x1 \"}") {
			if good[i] == c {
				continue
			}
			text := append([]byte(nil), good...)
			text[i] = c
			f, err := lockfile.Decode("f.json", text)
			switch {
			case err != nil:
				refused++
			case reflect.DeepEqual(f.Entries(), want.Entries()):
				same++ // white space
			default: // another server id is another approval: nothing in the entry can tell
				if !strings.Contains(string(lineOf(good, i)), `"server": `) {
					t.Errorf("byte %d %q changed to %q gives another baseline", i, lineOf(good, i), c)
				}
			}
		}
	}
	if refused < 1000 || same < 50 {
		t.Errorf("%d refused, %d the same: not much of a test", refused, same)
	}
}

func lineOf(text []byte, at int) string {
	begin := strings.LastIndexByte(string(text[:at]), '\n') + 1
	line, _, _ := strings.Cut(string(text[begin:]), "\n")
	return line
}

// FuzzDecode: a file is read or refused. What is read is the same when it is written and read again, and no beginning of
// what was written is a file itself.
func FuzzDecode(f *testing.F) {
	good, err := os.ReadFile("testdata/sample.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	for _, seed := range []string{
		`{"version": 1, "tools": [{"server": "fs", "name": "x", "fingerprint": "penstock1:` + zeros + `"}]}`,
		`{"version": 1, "tools": [{"server": "fs", "name": "\u202e", "fingerprint": "v1", "digests": {}}]}`,
		`{"version": 1, "tools": [{"server": "fs", "name": "x", "fingerprint": "` + nameX + `", "definition": {"name": "x"}}]}`,
		`{"version": 1, "tools": []}`, `{"version": 1}`, `{"version": 2, "tools": []}`, `{"version": 1, "tools": [{}]}`, ``, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kept := string(data)
		file, err := lockfile.Decode("f.json", data)
		if string(data) != kept {
			t.Fatal("Decode changed its input")
		}
		if (file == nil) != (err != nil) {
			t.Fatalf("file %v, error %v", file, err)
		}
		if err != nil {
			var all *lockfile.Error
			if !errors.As(err, &all) || len(all.Entries) == 0 {
				t.Fatalf("error %#v", err)
			}
			for _, e := range all.Entries {
				if e.Position.Line < 1 || e.Position.Column < 1 || int(e.Position.Line) > 1+strings.Count(kept, "\n") {
					t.Fatalf("no such place: %v", e)
				}
				if strings.ContainsFunc(e.Error(), func(r rune) bool { return r < ' ' || r == 0x202e }) {
					t.Fatalf("%q is not for a terminal", e.Error())
				}
			}
			return
		}
		text, err := file.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := lockfile.Decode("f.json", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !reflect.DeepEqual(file.Entries(), again.Entries()) {
			t.Fatalf("%+v becomes %+v", file.Entries(), again.Entries())
		}
		step := max(1, len(text)/16) // TestEveryProperPrefixIsAnError tries all of one file
		for n := 0; n < len(text)-2; n += step {
			if _, err := lockfile.Decode("f.json", text[:n]); err == nil {
				t.Fatalf("the first %d bytes of\n%s\nare a baseline", n, text)
			}
		}
	})
}

// nameX is the fingerprint of {"name":"x"}.
const nameX = "penstock1:912357c3df0d60cb3c3b68f86558443be617623f1bd91aa686b8b08c0feeaf7c"

func ExampleDecode() {
	_, err := lockfile.Decode("baseline.json", []byte(`{"version": 1, "tools": [`))
	fmt.Println(err)
	// Output: baseline.json:1:26: the file ends too early
}
