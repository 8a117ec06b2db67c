package lockfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock-mcp/penstock/engine"
)

// Entry is one approved tool.
type Entry struct {
	Server, Name string
	Fingerprint  engine.Fingerprint // never empty

	// Digests is nil where the file has only the fingerprint.
	Digests *Digests

	// Definition is the approved definition in canonical form, or nil. Where it is there, the digests are, too.
	Definition json.RawMessage
}

// Target returns the pair that the entry approves.
func (e *Entry) Target() engine.Target { return engine.Target{Server: e.Server, Name: e.Name} }

// File is a baseline as it stands on disk. The zero File is empty and ready to use: nothing is approved.
//
// A File must not be used by several goroutines at once when one of them changes it. What it hands out must not be
// changed.
type File struct {
	entries []Entry // sorted by server and name, bytewise; no target stands twice

	// digestsOnly says that Approve keeps no definitions.
	digestsOnly bool

	// origin is what was on disk when the file was loaded or saved last; see Save.
	origin *origin
}

// Options say what a new file keeps. The zero value keeps everything.
type Options struct {
	// DigestsOnly leaves the definitions out: the file is smaller, and can tell which parts of a tool changed but not
	// how.
	DigestsOnly bool
}

// New returns a file that approves tools as they are. Those that cannot be approved are left out, and returned with
// the reason: see [File.Approve]. A tool that stands twice is left out altogether.
func New(tools []engine.Tool, o Options) (*File, []*ToolError) {
	f := &File{digestsOnly: o.DigestsOnly}
	seen := make(map[engine.Target]int, len(tools))
	for i := range tools {
		seen[tools[i].Target()]++
	}
	var refused []*ToolError
	for i := range tools {
		target := tools[i].Target()
		if n := seen[target]; n != 1 {
			if n > 1 {
				refused = append(refused, &ToolError{Target: target, Err: ErrTwice})
			}
			seen[target] = 0 // it has been reported
			continue
		}
		e, err := f.entry(&tools[i])
		if err != nil {
			refused = append(refused, &ToolError{Target: target, Err: err})
			continue
		}
		f.entries = append(f.entries, e)
	}
	slices.SortFunc(f.entries, compareEntries)
	return f, refused
}

// Approve approves the tool as it is, in place of what was approved under its target before.
//
// The entry keeps the definition, unless the file keeps digests only: that is so for one made with
// [Options.DigestsOnly], and for one that was read with tools in it and without a definition. A tool whose own
// Fingerprint is not that of its Raw, or that has no Raw, is kept by its fingerprint alone, since nothing could verify
// more.
//
// It returns a *[ToolError], and changes nothing, for a tool without a fingerprint, one whose definition is not an
// object with the tool's name, and a target that a file cannot hold: a server id that no server can have, or a name
// that is not UTF-8.
func (f *File) Approve(tool engine.Tool) error {
	e, err := f.entry(&tool)
	if err != nil {
		return &ToolError{Target: tool.Target(), Err: err}
	}
	i, found := f.find(e.Target())
	if found {
		f.entries[i] = e
	} else {
		f.entries = slices.Insert(f.entries, i, e)
	}
	return nil
}

// Remove withdraws the approval of a target: the tool is new again. It reports whether there was one.
func (f *File) Remove(t engine.Target) bool {
	i, found := f.find(t)
	if found {
		f.entries = slices.Delete(f.entries, i, i+1)
	}
	return found
}

// Lookup returns the entry of a target, and whether there is one.
func (f *File) Lookup(t engine.Target) (Entry, bool) {
	if i, found := f.find(t); found {
		return f.entries[i], true
	}
	return Entry{}, false
}

// Entries returns the approved tools, sorted bytewise by server and then name.
func (f *File) Entries() []Entry { return slices.Clone(f.entries) }

// Len returns the number of approved tools.
func (f *File) Len() int { return len(f.entries) }

// Baseline returns what the engine needs of the file.
func (f *File) Baseline() *engine.Baseline {
	approved := make(map[engine.Target]engine.Fingerprint, len(f.entries))
	for i := range f.entries {
		approved[f.entries[i].Target()] = f.entries[i].Fingerprint
	}
	return engine.NewBaseline(approved)
}

func (f *File) find(t engine.Target) (int, bool) {
	return slices.BinarySearchFunc(f.entries, t, func(e Entry, t engine.Target) int { return compareTargets(e.Target(), t) })
}

func compareEntries(a, b Entry) int { return compareTargets(a.Target(), b.Target()) }

func compareTargets(a, b engine.Target) int {
	return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Name, b.Name))
}

// entry returns the entry that approves the tool.
func (f *File) entry(t *engine.Tool) (Entry, error) {
	e, _, err := newEntry(t)
	if err == nil && f.digestsOnly {
		e.Definition = nil
	}
	return e, err
}

// newEntry returns the whole entry that approves the tool, and the parts of its definition where it keeps them.
func newEntry(t *engine.Tool) (Entry, *parts, error) {
	e := Entry{Server: t.Server, Name: t.Name, Fingerprint: t.Fingerprint}
	if err := engine.CheckServerID(t.Server); err != nil {
		return e, nil, err
	}
	if !utf8.ValidString(t.Name) {
		return e, nil, errNameNotUTF8
	}
	if t.Fingerprint != "" {
		if err := checkFingerprint(t.Fingerprint); err != nil {
			return e, nil, err
		}
	}
	if len(t.Raw) == 0 {
		if t.Fingerprint == "" {
			return e, nil, ErrNoFingerprint
		}
		return e, nil, nil
	}
	canonical, err := engine.CanonicalJSON(t.Raw)
	var own engine.Fingerprint
	if err == nil {
		own, err = engine.ComputeFingerprint(canonical)
	}
	switch {
	case t.Fingerprint != "" && t.Fingerprint != own:
		return e, nil, nil
	case err != nil:
		return e, nil, fmt.Errorf("%w: %w", ErrNoFingerprint, err)
	}
	name, p, err := split(canonical)
	if err != nil {
		return e, nil, err
	}
	if name != t.Name {
		return e, nil, fmt.Errorf("the definition is of a tool named %s", quote(name))
	}
	e.Fingerprint, e.Digests, e.Definition = own, p.digests(), canonical
	return e, &p, nil
}

// ownScheme is in front of the fingerprints that package engine computes.
const ownScheme = "penstock1:"

// maxFingerprint bounds the fingerprints of other schemes, in bytes: four times what our own take.
const maxFingerprint = 4 * (len(ownScheme) + 64)

// checkFingerprint returns an error for what is no fingerprint. Those of embedders' own schemes are any printable
// ASCII without white space.
func checkFingerprint(f engine.Fingerprint) error {
	if f == "" {
		return errors.New("the fingerprint is empty")
	}
	if digits, ours := strings.CutPrefix(string(f), ownScheme); ours {
		return checkHex("fingerprint", digits)
	}
	if len(f) > maxFingerprint {
		return fmt.Errorf("the fingerprint is longer than %d bytes", maxFingerprint)
	}
	for i := range len(f) {
		if f[i] <= ' ' || f[i] >= 0x7f {
			return fmt.Errorf("the fingerprint %s holds a character that is not printable ASCII", quote(string(f)))
		}
	}
	return nil
}

func checkDigest(s string) error {
	digits, ok := strings.CutPrefix(s, digestScheme)
	if !ok {
		return fmt.Errorf("a digest begins with %q", digestScheme)
	}
	return checkHex("digest", digits)
}

func checkHex(what, digits string) error {
	if len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "" {
		return fmt.Errorf("the %s is not 64 hexadecimal digits in lower case", what)
	}
	return nil
}

// newBuffer returns a reader that a decoder reads in place.
func newBuffer(data []byte) io.Reader { return bytes.NewBuffer(data) }
