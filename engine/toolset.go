package engine

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// maxToolName is the length from which Refresh quarantines a tool. MCP says that a name should have at most 128
// characters; the longest of 4,504 real ones has 57.
const maxToolName = 1024

// toolset is the tools of one server as of one refresh. It is immutable; snapshots share it until the next refresh
// of the server.
type toolset struct {
	server string
	epoch  uint64 // unique in the process: what a Ref is checked against
	tools  []Tool // in the server's own order, without the quarantined ones
	names  nameTable

	serverHash uint64 // hashName(server)

	// prints holds the fingerprint of each tool: its own or the one of its raw definition, "" where it has
	// neither. It is kept apart from the tools, so that a tool that is handed out and comes back with another
	// definition does not bring the old fingerprint as its own.
	prints []Fingerprint
}

// epochs counts the toolsets of the process. A Ref of another engine is therefore stale, too.
var epochs atomic.Uint64

// Report says what a refresh did.
type Report struct {
	Generation  uint64       // of the first snapshot that holds the new tools
	Tools       int          // how many tools the server has now, quarantined ones not counted
	Quarantined []Quarantine // what was kept out, in the server's order
}

// Quarantine is one tool that is in no list and not found, and why.
type Quarantine struct {
	Index  int    // in the list that was given to Refresh
	Name   string // as the server gave it: escape it before it is shown
	Reason string // such as "the name is empty"
}

// newToolset copies tools, sorts out what must be quarantined, and computes the fingerprints that are missing.
// Where old, the set that was there before, has the very same definition, its fingerprint is taken over.
func newToolset(server string, tools []Tool, old *toolset) (*toolset, []Quarantine, error) {
	if err := CheckServerID(server); err != nil {
		return nil, nil, err
	}
	copies := make(map[string]int, len(tools))
	for i := range tools {
		if s := tools[i].Server; s != "" && s != server {
			return nil, nil, fmt.Errorf("%w: tool %d says it is of server %q, the refresh is of %q",
				ErrTargetMismatch, i, clip(s), server)
		}
		copies[tools[i].Name]++
	}
	set := &toolset{server: server, serverHash: hashName(server), epoch: epochs.Add(1), tools: make([]Tool, 0, len(tools)), prints: make([]Fingerprint, 0, len(tools))}
	var out []Quarantine
	for i := range tools {
		reason := quarantineReason(tools[i].Name)
		if reason == "" && copies[tools[i].Name] > 1 {
			reason = fmt.Sprintf("the name stands %d times in the list", copies[tools[i].Name])
		}
		if reason != "" {
			out = append(out, Quarantine{Index: i, Name: tools[i].Name, Reason: reason})
			continue
		}
		t := tools[i].clone()
		t.Server = server
		set.tools = append(set.tools, t)
		set.prints = append(set.prints, old.print(&t))
	}
	set.names = newNameTable(len(set.tools), func(i int) string { return set.tools[i].Name })
	return set, out, nil
}

// quarantineReason says why a tool with this name must be kept out, or "".
func quarantineReason(name string) string {
	switch {
	case name == "":
		return "the name is empty"
	case len(name) > maxToolName:
		return fmt.Sprintf("the name has %d bytes, more than %d", len(name), maxToolName)
	case !utf8.ValidString(name):
		return "the name is not valid UTF-8"
	}
	if i := strings.IndexFunc(name, invisible); i >= 0 {
		r, _ := utf8.DecodeRuneInString(name[i:])
		return fmt.Sprintf("the name holds the invisible character %U", r)
	}
	return ""
}

// print returns the fingerprint of t. Where s, the set that was there before, holds the very same definition, it is
// not computed again.
func (s *toolset) print(t *Tool) Fingerprint {
	if s != nil && t.Fingerprint == "" {
		if i := s.names.find(t.Name); i >= 0 && s.tools[i].Fingerprint == "" && bytes.Equal(s.tools[i].Raw, t.Raw) {
			return s.prints[i]
		}
	}
	return t.fingerprint()
}
