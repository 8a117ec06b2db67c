package lockfile

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-mcp/penstock/engine"
)

var (
	// ErrNoFingerprint says that a tool's definition has no fingerprint, so that nothing could be pinned.
	ErrNoFingerprint = errors.New("the tool has no fingerprint")
	// ErrTwice says that a list of tools or a file has one target twice.
	ErrTwice = errors.New("it stands twice")
	// ErrMismatch says that parts of a file do not fit each other: it was edited by hand, or merged badly.
	ErrMismatch = errors.New("edited by hand?")
	// ErrTooLarge says that a file is larger than [MaxSize].
	ErrTooLarge = fmt.Errorf("the baseline is larger than %d MiB", MaxSize>>20)
	// ErrChanged says that somebody else wrote the file since it was read. Nothing was written.
	ErrChanged = errors.New("the baseline has changed on disk since it was read")
	// ErrLocked says that another process was writing the file all the time. Nothing was written.
	ErrLocked = errors.New("another process is writing the baseline")

	errNameNotUTF8 = errors.New("the name is not valid UTF-8")
)

// A ToolError says why one tool cannot be approved.
type ToolError struct {
	Target engine.Target
	Err    error // the cause
}

// Error names the tool and the cause.
func (e *ToolError) Error() string {
	return fmt.Sprintf("tool %s/%s: %v", quote(e.Target.Server), quote(e.Target.Name), e.Err)
}

// Unwrap returns the cause.
func (e *ToolError) Unwrap() error { return e.Err }

// An Error holds everything that is wrong with a file, in the order of the file.
type Error struct {
	Entries []*EntryError // at least one
}

// Error lists every entry, one a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Entries))
	for i, entry := range e.Entries {
		lines[i] = entry.Error()
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

// An EntryError is one thing that is wrong with a file.
type EntryError struct {
	Position engine.Position // where it stands; the column counts bytes
	Path     string          // what it is about, such as "tools[3]"; "" for the whole file
	Err      error           // the cause
}

// Error begins with file:line:column.
func (e *EntryError) Error() string {
	var b strings.Builder
	b.WriteString(e.Position.String() + ": ")
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	fmt.Fprintf(&b, "%v", e.Err)
	return b.String()
}

// Unwrap returns the cause.
func (e *EntryError) Unwrap() error { return e.Err }

// maxQuoted is how many bytes of a text from a file or a server a message shows.
const maxQuoted = 120

// quote returns s in quotes, shortened, with escapes for what could disturb a terminal.
func quote(s string) string {
	more := ""
	if len(s) > maxQuoted {
		n := maxQuoted
		for n > maxQuoted-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		s, more = s[:n], "…"
	}
	if strings.ContainsFunc(s, unseen) {
		return fmt.Sprintf("%+q", s) + more
	}
	return fmt.Sprintf("%q", s) + more
}

// unseen reports whether r does not show, or changes how what is around it shows. The set is a little wider than what
// Unicode calls default-ignorable; all of it may be written as an escape.
func unseen(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Z, unicode.Noncharacter_Code_Point,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == 0x2800 // the blank of Braille
}
