package policyfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-mcp/penstock/engine"
)

// MaxEntries is how many entries an [Error] has at most: more than anybody reads, and few enough that a document made
// of nothing but mistakes costs no more memory than its tree.
const MaxEntries = 1000

// Error holds everything that is wrong with a document, sorted by place: the first [MaxEntries] problems, and how many
// there are beyond them.
type Error struct {
	Entries []*EntryError // at least one
	More    int           // how many problems follow the entries
}

// Error lists every entry, one a line, and says in a last line if there are more.
func (e *Error) Error() string {
	lines := make([]string, len(e.Entries), len(e.Entries)+1)
	for i, entry := range e.Entries {
		lines[i] = entry.Error()
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more (the first %d are listed)", e.More, len(e.Entries)))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the entries.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Entries))
	for i, entry := range e.Entries {
		errs[i] = entry
	}
	return errs
}

// EntryError is one thing that is wrong with a document.
type EntryError struct {
	Position engine.Position // where it stands
	Path     string          // what it is about, such as "policy.allow[0].all[1]"; "" for the whole document
	Err      error           // the cause; an [*engine.EntryError] where the engine refused an entry
}

// Error names the place, the entry and the cause:
//
//	penstock.yaml:22:5: policy.allow[0]: unknown key "annotations" (did you mean "annotation"?)
func (e *EntryError) Error() string {
	if _, ok := e.Err.(*engine.EntryError); ok {
		return e.Err.Error() // it names place and entry itself
	}
	var b strings.Builder
	if !e.Position.IsZero() {
		fmt.Fprintf(&b, "%s: ", e.Position)
	}
	if e.Path != "" {
		fmt.Fprintf(&b, "%s: ", e.Path)
	}
	fmt.Fprintf(&b, "%v", e.Err)
	return b.String()
}

// Unwrap returns the cause.
func (e *EntryError) Unwrap() error { return e.Err }

// problems collects what is wrong with one document.
type problems struct {
	file    string
	entries []*EntryError // fewer than twice [MaxEntries]
	more    int           // how many were left out, each behind those that are kept
}

// add reports a problem with what stands at n.
func (p *problems) add(n *node, at *path, format string, args ...any) {
	p.addErr(n.place(p.file), at, fmt.Errorf(format, args...))
}

func (p *problems) addErr(pos engine.Position, at *path, err error) {
	p.append(&EntryError{Position: pos, Path: at.String(), Err: err})
}

func (p *problems) append(entries ...*EntryError) {
	for _, e := range entries {
		if p.entries = append(p.entries, e); len(p.entries) == 2*MaxEntries {
			p.trim()
		}
	}
}

// err returns the problems sorted by place, or nil if there are none.
func (p *problems) err() error {
	if len(p.entries) == 0 {
		return nil
	}
	p.trim()
	return &Error{Entries: p.entries, More: p.more}
}

// trim sorts the problems by place and leaves out those behind the first [MaxEntries].
func (p *problems) trim() {
	slices.SortStableFunc(p.entries, func(a, b *EntryError) int {
		return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
	})
	if over := len(p.entries) - MaxEntries; over > 0 {
		p.more += over
		clear(p.entries[MaxEntries:])
		p.entries = p.entries[:MaxEntries]
	}
}

// path is where in a document something stands: a list from the inside out. A nil *path is the root.
type path struct {
	up    *path
	key   string
	index int // of an element; -1 for a key
}

func (p *path) child(key string) *path { return &path{up: p, key: key, index: -1} }
func (p *path) at(index int) *path     { return &path{up: p, index: index} }

// String returns the path as messages have it: policy.deny[2].args["a b"].
func (p *path) String() string {
	if p == nil {
		return ""
	}
	var steps []*path
	for ; p != nil; p = p.up {
		steps = append(steps, p)
	}
	var b strings.Builder
	for _, step := range slices.Backward(steps) {
		switch {
		case step.index >= 0:
			fmt.Fprintf(&b, "[%d]", step.index)
		case !plainWord(step.key):
			fmt.Fprintf(&b, "[%s]", quote(step.key))
		case b.Len() > 0:
			b.WriteString("." + step.key)
		default:
			b.WriteString(step.key)
		}
	}
	return b.String()
}

// plainWord reports whether a key needs no quotes in a path.
func plainWord(s string) bool {
	return s != "" && len(s) <= maxQuoted && !strings.ContainsFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !(unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == '/')
	})
}

// maxQuoted is how many bytes of a text from a document a message shows.
const maxQuoted = 120

// quote returns s in quotes, shortened and escaped where a terminal could be disturbed.
func quote(s string) string {
	if len(s) <= maxQuoted {
		return quoteAll(s)
	}
	return quoteAll(shorten(s)) + "…"
}

// shorten returns the beginning of a string of more than maxQuoted bytes, without a part of a character.
func shorten(s string) string {
	n := maxQuoted
	for n > maxQuoted-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func quoteAll(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
		return fmt.Sprintf("%+q", s)
	}
	return fmt.Sprintf("%q", s)
}

// clip returns s shortened for a message.
func clip(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	return shorten(s) + "…"
}

// A RegexpError reports a regular expression that is none.
type RegexpError struct {
	Text string
	Err  error // what package regexp says
}

// Error shows the expression and the cause.
func (e *RegexpError) Error() string {
	return fmt.Sprintf("regexp %s: %v", quote(e.Text), e.Err)
}

// Unwrap returns the cause.
func (e *RegexpError) Unwrap() error { return e.Err }
