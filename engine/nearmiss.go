package engine

import (
	"strings"

	"github.com/penstock-mcp/penstock/automaton"
	"github.com/penstock-mcp/penstock/fold"
)

// NearMissKind says how a rule fails to match.
type NearMissKind uint8

// The kinds of near misses.
const (
	NearLoose  NearMissKind = iota // an allow or include rule matches but for case, '-', '.' or '_'
	NearNew                        // an allow rule matches, but may not allow a tool that is new
	NearServer                     // the server is one edit away
	NearName                       // the server matches, and the name is one edit away
	NearHalf                       // the name matches, and the server is another one
)

var nearMissNames = [...]string{"loose", "new", "server", "name", "half"}

// String returns the kind in lower case.
func (k NearMissKind) String() string {
	if int(k) < len(nearMissNames) {
		return nearMissNames[k]
	}
	return nearMissNames[0]
}

// NearMiss is a rule that does not match but looks as if it was meant to.
type NearMiss struct {
	Kind   NearMissKind
	Rule   RuleInfo
	Target Target // in place of a rule: a server that is there, for a call to one that is not
}

// maxNearMisses bounds how many are reported: beyond it nobody reads on.
const maxNearMisses = 10

// nearMisses goes through all rules of the policy. Rules of one pattern alone are looked at: of an all it cannot be said
// which member was meant otherwise.
func (e *evaluation) nearMisses(s *subject, x *Explanation) []NearMiss {
	var out []NearMiss
	for _, step := range x.Steps {
		for _, t := range step.Rules {
			if t.Result == ResultBarred {
				out = append(out, NearMiss{Kind: NearNew, Rule: t.Rule})
			}
		}
	}
	for _, rules := range [...][]compiledRule{e.p.deny, e.p.ask, e.p.allow} {
		for i := range rules {
			if len(out) >= maxNearMisses {
				return out
			}
			r := &rules[i]
			if r.kind != x.Kind || r.src.form != formPattern {
				continue
			}
			if p, err := parsePattern(r.src.text); err == nil {
				if k, near := nearMiss(p, r.list, s); near {
					out = append(out, NearMiss{Kind: k, Rule: r.info()})
				}
			}
		}
	}
	return out
}

// nearMiss reports whether p, which stands in list l, misses the subject narrowly.
func nearMiss(p pattern, l List, s *subject) (NearMissKind, bool) {
	fs, fn := s.folds()
	server, name := fold.String(p.server), fold.String(p.name)
	serverHolds, nameHolds := automaton.Match(server, fs), automaton.Match(name, fn)
	exact := automaton.Match(p.server, s.server) && automaton.Match(p.name, s.name)
	switch {
	case exact || serverHolds && nameHolds && l.loose():
		return 0, false // it matches
	case serverHolds && nameHolds:
		return NearLoose, true
	case p.bare || strings.Trim(name, "*") == "":
		return 0, false // it says nothing of one half
	case nameHolds && oneEdit(server, fs):
		return NearServer, true
	case nameHolds:
		return NearHalf, true
	case serverHolds && oneEdit(name, fn):
		return NearName, true
	default:
		return 0, false
	}
}

// oneEdit reports whether a and b differ, and by no more than one character that is added, left out, changed, or
// swapped with its neighbour.
func oneEdit(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(y)-len(x) > 1 || a == b {
		return false
	}
	i := 0
	for i < len(x) && x[i] == y[i] {
		i++
	}
	if len(x) < len(y) {
		return string(x[i:]) == string(y[i+1:])
	}
	if i == len(x) { // they differ in bytes that are no characters
		return false
	}
	if string(x[i+1:]) == string(y[i+1:]) {
		return true
	}
	return i+1 < len(x) && x[i] == y[i+1] && x[i+1] == y[i] && string(x[i+2:]) == string(y[i+2:])
}
