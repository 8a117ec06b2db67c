package engine

import (
	"errors"
	"fmt"
	"strings"
)

// ErrTargetMismatch is returned when a call and the tool it is judged by name different targets. The decision
// returned with it is a deny.
var ErrTargetMismatch = errors.New("the call and the tool name different targets")

// A CompileError holds every bad entry of a filter or a policy, in the order deny, ask, allow or include,
// exclude, and within a list in the order written.
type CompileError struct {
	Entries []*EntryError // at least one
}

// Error lists every entry, one a line.
func (e *CompileError) Error() string {
	lines := make([]string, len(e.Entries))
	for i, entry := range e.Entries {
		lines[i] = entry.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the entries.
func (e *CompileError) Unwrap() []error {
	errs := make([]error, len(e.Entries))
	for i, entry := range e.Entries {
		errs[i] = entry
	}
	return errs
}

// An EntryError says what is wrong with one entry of one option.
type EntryError struct {
	Section  string   // "filter" or "policy"
	Option   string   // the list or option, such as "deny" or "trusted"
	Index    int      // of the entry, from 0; -1 where the option itself is wrong
	ID       string   // of a named rule
	Text     string   // the entry, or the member of it that is wrong, as written
	Offset   int      // into the pattern where one is wrong, in bytes; -1 where it does not apply
	Position Position // where it was written
	Err      error    // the cause
}

// Error names the place, the option, the entry and the cause:
//
//	penstock.yaml:14:7: policy.deny[1] (no-shell): pattern "shell/": the tool segment is empty (write "shell/*" for every tool)
func (e *EntryError) Error() string {
	var b strings.Builder
	if !e.Position.IsZero() {
		fmt.Fprintf(&b, "%s: ", e.Position)
	}
	fmt.Fprintf(&b, "%s.%s", e.Section, e.Option)
	if e.Index >= 0 {
		fmt.Fprintf(&b, "[%d]", e.Index)
	}
	if e.ID != "" {
		fmt.Fprintf(&b, " (%s)", clip(printable(e.ID)))
	}
	if e.Text != "" {
		fmt.Fprintf(&b, ": %s", clip(printable(e.Text)))
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

// Unwrap returns the cause.
func (e *EntryError) Unwrap() error { return e.Err }

// A PatternError says what is wrong with a pattern.
type PatternError struct {
	Pattern string
	Offset  int    // of the first offending byte
	Problem string // what is wrong and what to write instead
}

// Error returns the problem.
func (e *PatternError) Error() string { return e.Problem }

// A PredicateError is the failure of one predicate: its name, and the error it returned or a [PanicError].
type PredicateError struct {
	Predicate string
	Err       error
}

// Error names the predicate and the cause.
func (e *PredicateError) Error() string {
	return fmt.Sprintf("predicate %s: %v", e.Predicate, e.Err)
}

// Unwrap returns the cause.
func (e *PredicateError) Unwrap() error { return e.Err }

// A PanicError holds the value a predicate panicked with.
type PanicError struct {
	Value any
}

// Error says what the predicate panicked with.
func (e *PanicError) Error() string {
	return fmt.Sprintf("panic: %v", e.Value)
}

// Unwrap returns the value where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// printable escapes what could disturb a terminal or a log line.
func printable(s string) string {
	if strings.ContainsFunc(s, unprintable) || !validUTF8(s) {
		q := fmt.Sprintf("%+q", s)
		return q[1 : len(q)-1]
	}
	return s
}
