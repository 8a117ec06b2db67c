// Exposed names.
//
// Behind a hub stand many servers, in front of it is one list of names. The naive way, server + "_" + tool, split again
// at the "_" when a call comes in, makes server "a_b" with tool "c" and server "a" with tool "b_c" one name. So nothing
// here is ever split: a table maps each name back to the target it was made from.
//
// A name depends on its target alone. Were "a_b" only renamed because another target wanted it, a caller could tell from
// the odd name that there is a tool it does not see, and a name could pass from one target to another between two
// requests. Two forms, told apart by their shape:
//
//	plain   server__tool                     where both halves fit as they are and 64 characters hold them
//	hashed  server__tool_h<16 characters>    otherwise: made to fit, cut, and told apart by 80 bits of SHA-256
//
// Plain names are different for different targets: the first "__" is the border, because no plain server id holds "__"
// or ends in "_". A plain name that looks like a hashed one is hashed. What is left, two targets with the same 80
// bits, is found by the table, and then neither has a name.

package hub

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
)

const (
	maxName    = 64 // what model APIs take as a tool's name, the strictest of them
	hashLength = 16 // of base32: 80 bits, so that 10^6 names collide with a chance of 4 in 10^13
	hashMark   = "_h"
	separator  = "__"
)

// Names is a table of exposed names and the targets they stand for, one to one. It is immutable and safe for concurrent
// use. A nil *Names is empty.
type Names struct {
	targets map[string]engine.Target // by exposed name
	exposed map[engine.Target]string // the inverse, exactly
	lost    []engine.Target
}

// NewNames returns the table of the exposed names of targets: at most 64 characters of [A-Za-z0-9_-], the same for a
// target in every table. Repeated targets count once. Targets whose names collide, which takes a collision of SHA-256 cut
// to 80 bits, are left out, all of them: see [Names.Lost].
//
// Cost: linear, and a SHA-256 for each target whose name does not fit.
func NewNames(targets []engine.Target) *Names {
	return newNames(targets, ExposedName)
}

func newNames(targets []engine.Target, name func(engine.Target) string) *Names {
	n := &Names{
		targets: make(map[string]engine.Target, len(targets)),
		exposed: make(map[engine.Target]string, len(targets)),
	}
	collided := map[string]bool{}
	for _, t := range targets {
		if _, again := n.exposed[t]; again || slices.Contains(n.lost, t) {
			continue
		}
		e := name(t)
		if other, taken := n.targets[e]; taken {
			delete(n.targets, e)
			delete(n.exposed, other)
			n.lost = append(n.lost, other)
			collided[e] = true
		}
		if collided[e] {
			n.lost = append(n.lost, t)
			continue
		}
		n.targets[e], n.exposed[t] = t, e
	}
	return n
}

// NamesOf returns the table of names an embedder has chosen itself, such as those of a server's own tools. It returns a
// *NameError for a target that has two.
func NamesOf(byName map[string]engine.Target) (*Names, error) {
	n := &Names{
		targets: make(map[string]engine.Target, len(byName)),
		exposed: make(map[engine.Target]string, len(byName)),
	}
	names := make([]string, 0, len(byName))
	for e := range byName {
		names = append(names, e)
	}
	slices.Sort(names) // so that the same error is reported every time
	for _, e := range names {
		t := byName[e]
		if other, taken := n.exposed[t]; taken {
			return nil, &NameError{Target: t, Names: [2]string{other, e}}
		}
		n.targets[e], n.exposed[t] = t, e
	}
	return n, nil
}

// A NameError reports a target with two exposed names.
type NameError struct {
	Target engine.Target
	Names  [2]string
}

// Error says which target it is, and its names.
func (e *NameError) Error() string {
	return fmt.Sprintf("%v has two exposed names, %q and %q", e.Target, e.Names[0], e.Names[1])
}

// Target returns what an exposed name stands for. Names compare exactly.
func (n *Names) Target(exposed string) (engine.Target, bool) {
	if n == nil {
		return engine.Target{}, false
	}
	t, ok := n.targets[exposed]
	return t, ok
}

// Exposed returns the name a target is exposed under.
func (n *Names) Exposed(t engine.Target) (string, bool) {
	if n == nil {
		return "", false
	}
	e, ok := n.exposed[t]
	return e, ok
}

// Len returns the number of names.
func (n *Names) Len() int {
	if n == nil {
		return 0
	}
	return len(n.targets)
}

// Lost returns the targets that have no name because they collide.
func (n *Names) Lost() []engine.Target {
	if n == nil {
		return nil
	}
	return slices.Clone(n.lost)
}

// ExposedName returns the name that [NewNames] gives a target.
func ExposedName(t engine.Target) string {
	server, tool := fit(t.Server), fit(t.Name)
	joined := server + separator + tool
	if server == t.Server && tool == t.Name && tool != "" && len(joined) <= maxName && !looksHashed(joined) &&
		server != "" && !strings.Contains(server, separator) && !strings.HasSuffix(server, "_") {
		return joined
	}
	const room = maxName - len(hashMark) - hashLength
	return joined[:min(len(joined), room)] + hashMark + digest(t)
}

// fit returns s with every byte that a name cannot have replaced. It is only there for people to read.
func fit(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		default:
			return '_'
		}
	}, s)
}

const alphabet = "0123456789abcdefghijklmnopqrstuv"

var encoding = base32.NewEncoding(alphabet).WithPadding(base32.NoPadding)

// digest stands for the target: the length in front of the server keeps ("a", "bc") and ("ab", "c") apart.
func digest(t engine.Target) string {
	b := binary.AppendUvarint([]byte("penstock exposed name 1\x00"), uint64(len(t.Server)))
	b = append(b, t.Server...)
	b = append(b, t.Name...)
	sum := sha256.Sum256(b)
	return encoding.EncodeToString(sum[:hashLength*5/8])
}

// looksHashed reports whether a name could be a hashed one.
func looksHashed(name string) bool {
	at := len(name) - hashLength - len(hashMark)
	return at >= 0 && strings.HasPrefix(name[at:], hashMark) && strings.Trim(name[at+len(hashMark):], alphabet) == ""
}
