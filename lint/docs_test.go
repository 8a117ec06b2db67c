package lint

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/lint.md")

const (
	docsFile  = "../docs/lint.md"
	docsBegin = "<!-- Generated from lint/codes.go: go test ./lint -run Docs -update -->\n"
)

// docs/lint.md is written by hand down to docsBegin, and from there on generated.
func TestDocsListEveryCode(t *testing.T) {
	data, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	head, have, ok := strings.Cut(string(data), docsBegin)
	if !ok {
		t.Fatalf("%s has no line %q", docsFile, docsBegin)
	}
	var b strings.Builder
	groups := map[byte]string{'1': "Rules by themselves", '2': "Options", '3': "Rules against the catalogs", '4': "The catalogs themselves"}
	last := byte(0)
	for _, c := range Codes() {
		if c.ID[2] != last {
			last = c.ID[2]
			fmt.Fprintf(&b, "\n## %s\n", groups[last])
		}
		fmt.Fprintf(&b, "\n### %s %s\n\n*%s.* %s%s.\n\n%s\n\n**Instead:** %s\n", c.ID, c.Name,
			strings.ToUpper(c.Severity.String()[:1])+c.Severity.String()[1:], strings.ToUpper(c.Summary[:1]), markdown(c.Summary[1:]),
			markdown(c.Happens), markdown(c.Write))
	}
	if *update {
		if err := os.WriteFile(docsFile, []byte(head+docsBegin+b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != b.String() {
		t.Errorf("%s does not say what codes.go says (go test ./lint -run Docs -update)", docsFile)
	}
}

// markdown keeps stars and underscores from being markup.
func markdown(s string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "|", `\|`, `\`, `\\`, "<", `\<`).Replace(s)
}

func TestCodesAreWellFormed(t *testing.T) {
	id, name := regexp.MustCompile(`^PS[1-4][0-9]{2}$`), regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)
	seen := make(map[string]bool)
	last := ""
	for _, c := range Codes() {
		if !id.MatchString(c.ID) || !name.MatchString(c.Name) || seen[c.ID] || seen[c.Name] || c.ID <= last {
			t.Errorf("%s %s: malformed, used twice or out of order", c.ID, c.Name)
		}
		seen[c.ID], seen[c.Name], last = true, true, c.ID
		if strings.HasSuffix(c.Summary, ".") || !strings.HasSuffix(c.Happens, ".") || !strings.HasSuffix(c.Write, ".") {
			t.Errorf("%s: a summary has no full stop, the rest has", c.ID)
		}
		if c.Catalogs != (c.ID[2] >= '3') {
			t.Errorf("%s: the first digit says whether it needs catalogs", c.ID)
		}
		if CodeOf(c.ID) != c || CodeOf(c.Name) != c {
			t.Errorf("%s is not found", c.ID)
		}
	}
	if CodeOf("PS999") != nil || len(seen) < 60 {
		t.Errorf("%d words", len(seen))
	}
}
