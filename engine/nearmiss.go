package engine

import (
	"regexp"
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
	NearHint                       // an allow rule matches but for an annotation
)

var nearMissNames = [...]string{"loose", "new", "server", "name", "half", "hint"}

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
	Hint   HintKey // of NearHint: the first hint that is not as the rule wants it
	Want   bool    // and what the rule wants
	Target Target  // in place of a rule: a server that is there, for a call to one that is not
}

// maxNearMisses bounds how many are reported of each section of a document: beyond it nobody reads on.
const maxNearMisses = 10

// nearMisses goes through all rules of the policy. Of an all, annotations aside, it cannot be said which member was meant
// otherwise.
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
		out = addNearMisses(out, rules, x.Kind, s)
	}
	return out
}

// filterNearMisses is nearMisses for the list of a filter that could have changed its answer.
func filterNearMisses(f *Filter, s *subject, visible bool) []NearMiss {
	switch {
	case f == nil || f.include.index == nil:
		return nil
	case visible:
		return addNearMisses(nil, f.exclude.rules, Tools, s)
	case f.exclude.index.Any(s.server, s.name):
		return nil
	default:
		return addNearMisses(nil, f.include.rules, Tools, s)
	}
}

func addNearMisses(out []NearMiss, rules []compiledRule, kind Kind, s *subject) []NearMiss {
	for i := range rules {
		if len(out) >= maxNearMisses {
			return out
		}
		r := &rules[i]
		if r.kind != kind {
			continue
		}
		if m, near := r.nearMiss(s); near {
			m.Rule = r.info()
			out = append(out, m)
		}
	}
	return out
}

// nearMiss reports whether the rule misses the subject narrowly.
func (r *compiledRule) nearMiss(s *subject) (NearMiss, bool) {
	switch r.src.form {
	case formPattern:
		if p, err := parsePattern(r.src.text); err == nil {
			k, near := nearMiss(p, r.list, s)
			return NearMiss{Kind: k}, near
		}
	case formRegexp:
		k, near := nearRegexp(r.src.text, r.src.more.re, r.list, s)
		return NearMiss{Kind: k}, near
	case formAll:
		if r.list == ListAllow && r.kind == Tools {
			return nearHint(r.src, s)
		}
	}
	return NearMiss{}, false
}

// nearHint reports whether the patterns and regexps of an all match the subject, there is one, and an annotation does
// not. Members that only a call can decide are not asked.
func nearHint(all Rule, s *subject) (m NearMiss, near bool) {
	named := false
	for _, member := range all.flat(nil) {
		switch member.form {
		case formPattern:
			p, err := parsePattern(member.text)
			if err != nil || !automaton.Match(p.server, s.server) || !automaton.Match(p.name, s.name) {
				return NearMiss{}, false
			}
			named = true
		case formRegexp:
			if !automaton.Match(member.text, s.server) || !member.more.re.MatchString(s.name) {
				return NearMiss{}, false
			}
			named = true
		case formAnnotation:
			if !near && s.hints.Effective(member.more.hint, s.trusted) != member.more.want {
				m, near = NearMiss{Kind: NearHint, Hint: member.more.hint, Want: member.more.want}, true
			}
		}
	}
	return m, near && named
}

// flat appends the members of r, those of an all in it in its place.
func (r Rule) flat(to []Rule) []Rule {
	if r.form != formAll {
		return append(to, r)
	}
	for _, m := range r.more.members {
		to = m.flat(to)
	}
	return to
}

// nearRegexp is nearMiss for a regexp and its server segment.
func nearRegexp(glob string, re *regexp.Regexp, l List, s *subject) (NearMissKind, bool) {
	fs, fn := s.folds()
	server := fold.String(glob)
	serverHolds, exactName := automaton.Match(server, fs), re.MatchString(s.name)
	nameHolds := exactName || re.MatchString(fn)
	switch {
	case !nameHolds || re.MatchString(""):
		return 0, false // an expression that takes the empty name takes every one: it says nothing of the name
	case serverHolds && (l.loose() || automaton.Match(glob, s.server) && exactName):
		return 0, false // it matches
	case serverHolds:
		return NearLoose, true
	case oneEdit(server, fs):
		return NearServer, true
	default:
		return 0, false // so much matches an expression that this means little
	}
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
