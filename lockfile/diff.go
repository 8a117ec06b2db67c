package lockfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-mcp/penstock/engine"
)

// ChangeKind is what became of a tool, or of a part of one.
type ChangeKind uint8

// The kinds.
const (
	Added    ChangeKind = iota + 1 // it is not in the file
	Removed                        // it is in the file alone
	Changed                        // it is another one than in the file
	Unusable                       // of a tool: it cannot be approved as it is
)

var changeNames = [...]string{"", "added", "removed", "changed", "unusable"}

// String returns added, removed, changed or unusable.
func (k ChangeKind) String() string {
	if int(k) < len(changeNames) {
		return changeNames[k]
	}
	return fmt.Sprintf("ChangeKind(%d)", uint8(k))
}

// Change is one tool that is not as it was approved.
type Change struct {
	Target   engine.Target
	Kind     ChangeKind
	Old, New engine.Fingerprint // "" where there is none

	// Components are the parts that changed, in the order of their constants; of a tool that was added or removed, all
	// it has. It is nil where the file holds the fingerprint alone.
	Components []ComponentChange

	// Err is why an unusable tool cannot be approved. On a changed one it wraps [ErrMismatch]: the file's digests are
	// not those of what was approved, so Components may be wrong.
	Err error
}

// ComponentChange is one part of a definition that changed.
type ComponentChange struct {
	Component Component
	Kind      ChangeKind // Added, Removed or Changed

	// Old and New are the part in canonical JSON. Old is nil where the file does not hold the definition; both are where
	// there is nothing.
	Old, New json.RawMessage
}

// Diff reports every difference between what old approves and the tools as they are now, sorted bytewise by server and
// name. It does not change old.
//
// Tools that are missing count as removed only on the given servers, whose lists must be complete. Without any, they
// are the servers that tools names.
func Diff(old *File, tools []engine.Tool, servers ...string) []Change {
	complete := make(map[string]bool)
	for _, id := range servers {
		complete[id] = true
	}
	now := make(map[engine.Target]int, len(tools))
	for i := range tools {
		now[tools[i].Target()]++
		if len(servers) == 0 {
			complete[tools[i].Server] = true
		}
	}
	var out []Change
	for i := range tools {
		t := &tools[i]
		n := now[t.Target()]
		if n > 1 {
			now[t.Target()] = -1 // it is reported once
		}
		if n < 0 {
			continue
		}
		if c, differs := diffTool(old, t, n > 1); differs {
			out = append(out, c)
		}
	}
	for i := range old.entries {
		e := &old.entries[i]
		if now[e.Target()] == 0 && complete[e.Server] {
			p := e.parts()
			out = append(out, Change{Target: e.Target(), Kind: Removed, Old: e.Fingerprint, Components: diffParts(e.Digests, &p, nil, nil)})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return compareTargets(a.Target, b.Target) })
	return out
}

func diffTool(old *File, t *engine.Tool, twice bool) (Change, bool) {
	c := Change{Target: t.Target(), Kind: Unusable}
	was, known := old.Lookup(t.Target())
	c.Old = was.Fingerprint
	if twice {
		c.Err = ErrTwice
		return c, true
	}
	is, p, err := newEntry(t)
	if err != nil {
		c.Err = err
		return c, true
	}
	c.New = is.Fingerprint
	if !known {
		c.Kind, c.Components = Added, diffParts(nil, nil, is.Digests, p)
		return c, true
	}
	same := was.Fingerprint == is.Fingerprint
	if same && (was.Digests == nil || is.Digests == nil || *was.Digests == *is.Digests) {
		return c, false
	}
	c.Kind = Changed
	if was.Digests != nil && is.Digests != nil {
		before := was.parts()
		c.Components = diffParts(was.Digests, &before, is.Digests, p)
		if same {
			c.Err = fmt.Errorf("the digests in the file are not those of the approved definition (%w)", ErrMismatch)
		} else if len(c.Components) == 0 {
			c.Err = fmt.Errorf("the digests in the file are those of the new definition, its fingerprint is not (%w)", ErrMismatch)
		}
	}
	return c, true
}

// parts returns the parts of the entry's definition; none where it is not kept.
func (e *Entry) parts() parts {
	if e.Definition == nil {
		return parts{}
	}
	_, p, err := split([]byte(e.Definition))
	if err != nil {
		panic(errors.Join(errors.New("lockfile: an entry's definition is verified"), err)) // cannot happen
	}
	return p
}

// diffParts returns the parts whose digests differ. Nil digests have no part.
func diffParts(oldDigests *Digests, before *parts, newDigests *Digests, after *parts) []ComponentChange {
	if oldDigests == nil {
		oldDigests = new(Digests)
	}
	if newDigests == nil {
		newDigests = new(Digests)
	}
	if before == nil {
		before = new(parts)
	}
	if after == nil {
		after = new(parts)
	}
	var out []ComponentChange
	for c := range components {
		if oldDigests[c] == newDigests[c] {
			continue
		}
		kind := Changed
		switch "" {
		case oldDigests[c]:
			kind = Added
		case newDigests[c]:
			kind = Removed
		}
		out = append(out, ComponentChange{Component: c, Kind: kind, Old: json.RawMessage(before[c]), New: json.RawMessage(after[c])})
	}
	return out
}
