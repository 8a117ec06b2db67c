package text_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
)

func TestEscapeLeavesNothingUnseenAndMixesNothingUp(t *testing.T) {
	for in, want := range map[string]string{
		"plain ä 删 \"x\"": "plain ä 删 \"x\"",
		"a\tb\rc":         `a\tb\rc`,
		"\x1b[31m":        `\u001b[31m`,
		"a\u202eb":        `a\u202eb`,
		`a\u202eb`:        `a\\u202eb`,
		"\ufe0f\u3164":    `\ufe0f\u3164`,
		"\U000e0041":      `\udb40\udc41`,
		"\u00a0\u2028":    `\u00a0\u2028`,
		"":                "",
	} {
		if got := text.Escape(in); got != want {
			t.Errorf("Escape(%+q) = %s, want %s", in, got, want)
		}
	}
}

func TestEscapeJSONMeansTheSame(t *testing.T) {
	in := "{\n\t\"a\u202e\": \"\u200b\U000e0041\u2028x\u007f\\n\"\n}"
	out := string(text.EscapeJSON([]byte(in)))
	if strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && r != '\t' && text.Unseen(r) }) {
		t.Errorf("%+q", out)
	}
	var before, after map[string]string
	if err := json.Unmarshal([]byte(in), &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &after); err != nil {
		t.Fatal(err)
	}
	if len(after) != 1 || before["a\u202e"] != after["a\u202e"] {
		t.Errorf("%q becomes %q", before, after)
	}
}
