package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/diff"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/lockfile"
)

// painter colours a text, or leaves it as it is.
type painter bool

func (p painter) paint(style, s string) string {
	if !p || style == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

const (
	styleOld = "31"
	styleNew = "32"
)

// writeComponent writes how one part of a tool has changed.
func writeComponent(b *strings.Builder, c *lockfile.ComponentChange, tool lockfile.ChangeKind, p painter) {
	head := c.Component.String()
	if tool == lockfile.Changed {
		head += " " + c.Kind.String()
	}
	b.WriteString("  " + head + "\n")
	if c.Kind != lockfile.Added && c.Old == nil {
		b.WriteString("    (the file does not hold what it was)\n")
	}
	for _, line := range textDiff(partLines(c.Old), partLines(c.New)) {
		style := ""
		switch line[0] {
		case '-':
			style = styleOld
		case '+':
			style = styleNew
		}
		b.WriteString("    " + p.paint(style, line) + "\n")
	}
}

// partLines returns a part of a definition as lines that print: the text of a string, anything else as indented JSON.
func partLines(part json.RawMessage) []string {
	if part == nil {
		return nil
	}
	v := jsontext.Value(part).Clone()
	if v.Kind() == '"' {
		s, _ := jsontext.AppendUnquote(nil, v) // it is canonical JSON
		all := strings.Split(string(s), "\n")
		for i := range all {
			all[i] = text.Escape(all[i])
		}
		return all
	}
	_ = v.Indent(jsontext.WithIndent("  "))
	return strings.Split(string(text.EscapeJSON(v)), "\n")
}

// textDiff returns the lines of a diff: what is gone behind "- ", what is new behind "+ ", and a few lines around it
// behind two spaces.
func textDiff(before, after []string) []string {
	var out []string
	if before == nil || after == nil {
		for _, l := range before {
			out = append(out, "- "+l)
		}
		for _, l := range after {
			out = append(out, "+ "+l)
		}
		return out
	}
	join := func(l []string) []byte { return []byte(strings.Join(l, "\n") + "\n") }
	unified := strings.Split(strings.TrimSuffix(string(diff.Diff("", join(before), "", join(after))), "\n"), "\n")
	for i, l := range unified {
		switch {
		case i < 3: // the head of a unified diff
		case l[0] == '@':
			if !strings.HasPrefix(l, "@@ -1,") {
				out = append(out, "  …")
			}
		default:
			out = append(out, l[:1]+" "+l[1:])
		}
	}
	return shorten(out)
}

// Of long lines that were replaced by as many others, the beginning and the end that they share are left out, but for
// a little around what differs.
const (
	longLine = 160
	around   = 40
)

func shorten(all []string) []string {
	for i := 0; i < len(all); {
		minus := markedLines(all[i:], '-')
		plus := markedLines(all[i+minus:], '+')
		if minus == plus {
			for j := i; j < i+minus; j++ {
				all[j], all[j+minus] = shortenPair(all[j][2:], all[j+minus][2:])
			}
		}
		i += max(1, minus+plus)
	}
	return all
}

// markedLines returns how many lines at the beginning of all begin with the mark.
func markedLines(all []string, mark byte) int {
	n := 0
	for n < len(all) && all[n][0] == mark {
		n++
	}
	return n
}

func shortenPair(before, after string) (string, string) {
	if len(before) > longLine || len(after) > longLine {
		prefix := 0
		for prefix < min(len(before), len(after)) && before[prefix] == after[prefix] {
			prefix++
		}
		suffix := 0
		for suffix < min(len(before), len(after))-prefix && before[len(before)-1-suffix] == after[len(after)-1-suffix] {
			suffix++
		}
		from, to := boundary(before, prefix-around), boundary(before, len(before)-(suffix-around))
		if suffix > around {
			cut := len(before) - to
			before, after = before[:to]+"…", after[:len(after)-cut]+"…"
		}
		if prefix > around {
			before, after = "…"+before[from:], "…"+after[from:]
		}
	}
	return "- " + before, "+ " + after
}

// boundary returns the first beginning of a character at or behind n.
func boundary(s string, n int) int {
	n = min(max(n, 0), len(s))
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}

type changeJSON struct {
	Change     string          `json:"change"`
	Server     string          `json:"server"`
	Name       string          `json:"name"`
	Old        *string         `json:"old"`
	New        *string         `json:"new"`
	Approve    *string         `json:"approve"`
	Error      *string         `json:"error"`
	Components []componentJSON `json:"components"`
}

type componentJSON struct {
	Component string          `json:"component"`
	Change    string          `json:"change"`
	Old       json.RawMessage `json:"old"`
	New       json.RawMessage `json:"new"`
}

func (c *comparison) writeJSON(w io.Writer) error {
	out := struct {
		Changes     []changeJSON `json:"changes"`
		Same        int          `json:"same"`
		NotCompared []string     `json:"not_compared"`
	}{[]changeJSON{}, c.same, orEmpty(c.notCompared)}
	for i := range c.changes {
		change := &c.changes[i]
		j := changeJSON{
			Change: changeWord(change.Kind), Server: change.Target.Server, Name: change.Target.Name,
			Old: orNull(string(change.Old)), New: orNull(string(change.New)), Approve: orNull(approvalOf(change)),
			Components: []componentJSON{},
		}
		if change.Err != nil {
			j.Error = orNull(change.Err.Error())
		}
		for _, p := range change.Components {
			j.Components = append(j.Components, componentJSON{p.Component.String(), p.Kind.String(), p.Old, p.New})
		}
		out.Changes = append(out.Changes, j)
	}
	data, err := marshalIndent(out)
	if err != nil {
		return fmt.Errorf("the changes as JSON: %w", err)
	}
	_, err = w.Write(text.EscapeJSON(data))
	return err
}

// orNull returns nil for "".
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
