package text_test

import (
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"read_file":      "read_file",
		"löschen 删除":     "löschen 删除",
		`a\n"b"`:         `a\n"b"`,
		"":               `""`,
		" x":             `" x"`,
		"x ":             `"x "`,
		`"x"`:            `"\"x\""`,
		"a\nb":           `"a\nb"`,
		"a\x1b[31m":      `"a\x1b[31m"`,
		"a\u202eb":       `"a\u202eb"`,
		"a\u0085b":       `"a\u0085b"`,
		"a\u00a0b":       `"a\u00a0b"`,
		"a\xffb":         `"a\xffb"`,
		"a\uFFFDb":       "a\uFFFDb",
		"zero\u200dwide": `"zero\u200dwide"`,
	} {
		if got := text.Plain(in); got != want {
			t.Errorf("Plain(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestWidthClipAndPad(t *testing.T) {
	for in, want := range map[string]int{"": 0, "abc": 3, "删除": 4, "u\u0308": 1, "löschen": 7, "ＡＢ": 4} {
		if got := text.Width(in); got != want {
			t.Errorf("Width(%q) = %d, want %d", in, got, want)
		}
	}
	for _, in := range []string{"", "abcdef", "删除全部", "a删b除c", strings.Repeat("u\u0308", 20), strings.Repeat("x", 1<<20)} {
		for columns := 1; columns < 12; columns++ {
			got := text.Clip(in, columns)
			if text.Width(got) > columns {
				t.Errorf("Clip(%.20q, %d) = %q is too wide", in, columns, got)
			}
			if text.Width(in) <= columns && got != in {
				t.Errorf("Clip(%.20q, %d) = %q cuts without need", in, columns, got)
			}
			if got := text.Pad(got, columns); text.Width(got) != columns {
				t.Errorf("Pad to %d: %q", columns, got)
			}
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 4133: "4,133", 1234567: "1,234,567"} {
		if got := text.Count(n); got != want {
			t.Errorf("Count(%d) = %s, want %s", n, got, want)
		}
	}
	if text.Of(1, "tool") != "1 tool" || text.Of(0, "tool") != "0 tools" {
		t.Error("Of")
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		`"fs/*"`:          `"fs/*"`,
		`a\.b "c"`:        `a\.b "c"`,
		"a\x1b[31m \"b\"": `a\x1b[31m "b"`,
		"a\nb\u202e\xff":  `a\nb\u202e\xff`,
		"löschen 删除":      "löschen 删除",
	} {
		if got := text.Line(in); got != want {
			t.Errorf("Line(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"read_file", "read_files", "write_file", "Read-File", "delete_repo", "x", strings.Repeat("y", 500)}
	for in, want := range map[string]string{
		"raed_file":              "read_file Read-File read_files",
		"READ.FILE":              "read_file Read-File read_files",
		"read_file":              "Read-File read_files",
		"delte_repo":             "delete_repo",
		"something":              "",
		"":                       "x",
		"y":                      "x",
		strings.Repeat("y", 500): "",
	} {
		if got := strings.Join(text.Nearest(in, words, 3), " "); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
}
