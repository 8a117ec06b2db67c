package engine

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Target is the structured pair that every rule is matched against, one half at a time. It is never joined
// into one string, so server "a_b" with tool "c" and server "a" with tool "b_c" are never confused.
type Target struct {
	Server string // the operator's id of the server
	Name   string // the tool's name as the server gave it: any bytes
}

// String quotes both halves. It is for people; nothing matches on it.
func (t Target) String() string { return fmt.Sprintf("%q/%q", t.Server, t.Name) }

// Kind is what a rule or a request is about.
type Kind uint8

// The kinds. The zero Kind is Tools, the only one in scope by default.
const (
	Tools Kind = iota
	Resources
	Prompts
	kinds // how many there are
)

var kindNames = [kinds]string{"tools", "resources", "prompts"}

// String returns the kind as a policy document writes it: tools, resources or prompts.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// one returns the word for one thing of the kind.
func (k Kind) one() string { return strings.TrimSuffix(k.String(), "s") }

// CheckServerID returns an error that says what is wrong with id when no server can have it: it is empty, not
// valid UTF-8, or holds ':', '/', '*', white space or a control character.
func CheckServerID(id string) error {
	switch {
	case id == "":
		return &ServerIDError{ID: id, Problem: "it is empty"}
	case !utf8.ValidString(id):
		return &ServerIDError{ID: id, Problem: "it is not valid UTF-8"}
	}
	for i, r := range id {
		if r == ':' || r == '/' || r == '*' || unicode.IsSpace(r) || unicode.IsControl(r) {
			return &ServerIDError{ID: id, Offset: i, Problem: fmt.Sprintf("it holds %q", r)}
		}
	}
	return nil
}

// plainID holds the ASCII bytes that a server id may consist of without a closer look.
var plainID = func() (t [256]bool) {
	for c := range utf8.RuneSelf {
		t[c] = CheckServerID(string(rune(c))) == nil
	}
	return t
}()

// validServerID is CheckServerID without the reason. It allocates nothing.
func validServerID(id string) bool {
	for i := 0; i < len(id); i++ {
		if !plainID[id[i]] {
			return CheckServerID(id) == nil
		}
	}
	return id != ""
}

// A ServerIDError reports a server id that no server can have.
type ServerIDError struct {
	ID      string
	Offset  int    // of the offending character, in bytes
	Problem string // what is wrong
}

// Error says which id is refused and what an id may be.
func (e *ServerIDError) Error() string {
	return fmt.Sprintf("server id %q: %s (an id is non-empty UTF-8 without ':', '/', '*', white space or control characters)",
		clip(e.ID), e.Problem)
}

// clip shortens s for a message: texts in messages may come from anybody.
func clip(s string) string {
	const limit = 120
	if len(s) <= limit {
		return s
	}
	n := limit
	for n > limit-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
