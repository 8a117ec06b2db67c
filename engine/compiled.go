package engine

import (
	"context"
	"errors"
	"regexp"
	"strconv"

	"github.com/penstock-mcp/penstock/automaton"
	"github.com/penstock-mcp/penstock/fold"
)

// compiledRule is one rule, ready to be matched. It is immutable.
//
// A rule is a conjunction of members, flattened from any nesting of All. One pattern or regexp of it, the anchor,
// stands in an index; where the rule has other members, a hit of the anchor makes it a candidate, and tests says
// what is left to check.
type compiledRule struct {
	src   Rule       // as written, without its name
	named *ruleBody  // the name and message, nil for an unnamed rule
	id    string     // what it is reported under
	index int32      // in its list
	list  List       //
	kind  Kind       // the kind of target it is about
	exact bool       // holds a pattern of one target: may allow new tools
	tests *ruleTests // nil: the anchor alone decides
}

// ruleTests are the members of a rule beside its anchor.
type ruleTests struct {
	static  []staticTest  // what depends on the tool alone
	dynamic []dynamicTest // what depends on the call
}

func (r *compiledRule) info() RuleInfo {
	info := RuleInfo{List: r.list, Index: int(r.index), ID: r.id, Text: r.src.String(), Position: r.src.pos}
	if r.named != nil {
		info.Message = r.named.message
	}
	return info
}

// isDynamic reports whether the rule can only be decided at call time.
func (r *compiledRule) isDynamic() bool { return r.tests != nil && len(r.tests.dynamic) > 0 }

// staticTest is a pattern, a regexp or an annotation as a member.
type staticTest struct {
	form   form // formPattern, formRegexp or formAnnotation
	loose  bool // the globs are folded and meet the folds; a regexp meets name and fold
	want   bool
	hint   HintKey
	server automaton.Glob
	name   automaton.Glob
	re     *regexp.Regexp
}

// subject is a target while it is matched, with what static tests ask about it. It lives on the stack of one
// decision; folds are made when first asked for.
type subject struct {
	server, name string
	hints        Hints
	trusted      bool

	folded       bool
	foldS, foldN string
}

func (s *subject) folds() (server, name string) {
	if !s.folded {
		s.foldS, s.foldN, s.folded = fold.String(s.server), fold.String(s.name), true
	}
	return s.foldS, s.foldN
}

// holds reports whether the test holds for s.
func (t *staticTest) holds(s *subject) bool {
	if t.form == formAnnotation {
		return s.hints.Effective(t.hint, s.trusted) == t.want
	}
	server, name := s.server, s.name
	if t.loose {
		server, name = s.folds()
	}
	if !t.server.Match(server) {
		return false
	}
	if t.form == formPattern {
		return t.name.Match(name)
	}
	return t.re.MatchString(s.name) || t.loose && t.re.MatchString(name)
}

// staticHolds reports whether every static member of the rule holds for s. The anchor is known to hold.
func (r *compiledRule) staticHolds(s *subject) bool {
	if r.tests == nil {
		return true
	}
	for i := range r.tests.static {
		if !r.tests.static[i].holds(s) {
			return false
		}
	}
	return true
}

// dynamicTest is a member that can only be decided at call time.
type dynamicTest struct {
	form   form // formFunc, formArgs, formArg, formAttribute or formTainted
	name   string
	fn     func(context.Context, Input) (bool, error)
	lookup *compiledLookup
	ignore []string

	ignored map[string]bool // the same as a set, where they are many
}

// check decides the test. A nil error goes with verdictNo and verdictYes.
func (t *dynamicTest) check(ctx context.Context, in Input) (verdict, error) {
	switch t.form {
	case formTainted:
		if in.req.tainted(in.tool.Server, t.ignore, t.ignored) {
			return verdictYes, nil
		}
		return verdictNo, nil
	case formArg:
		return t.lookup.eval(in.args, in.keys)
	case formAttribute:
		return t.lookup.eval(in.req.Attributes, nil)
	default:
		in.noArgs = t.form == formFunc
		ok, err := callPredicate(ctx, t.fn, in)
		switch {
		case err != nil:
			return verdictFailed, &PredicateError{Predicate: t.name, Err: err}
		case ok:
			return verdictYes, nil
		default:
			return verdictNo, nil
		}
	}
}

// callPredicate calls f and turns a panic into a [PanicError].
func callPredicate(ctx context.Context, f func(context.Context, Input) (bool, error), in Input) (ok bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			ok, err = false, &PanicError{Value: v}
		}
	}()
	return f(ctx, in)
}

// dynamicHolds decides the dynamic members: no where one of them does not hold, whatever the others do, else
// failed where one failed, else yes. The order of the members makes no difference.
func (r *compiledRule) dynamicHolds(ctx context.Context, in Input) (verdict, error) {
	if r.tests == nil {
		return verdictYes, nil
	}
	var failure error
	for i := range r.tests.dynamic {
		v, err := r.tests.dynamic[i].check(ctx, in)
		switch v {
		case verdictNo:
			return verdictNo, nil
		case verdictFailed:
			if failure == nil {
				failure = err
			} else {
				failure = errors.Join(failure, err)
			}
		}
	}
	if failure != nil {
		return verdictFailed, failure
	}
	return verdictYes, nil
}

// ruleIDs returns the ids of n unnamed rules of a list: "deny[0]", "deny[1]", … They share one string.
func ruleIDs(l List, n int) []string {
	name := l.String()
	buf := make([]byte, 0, n*(len(name)+7))
	ends := make([]int, n)
	for i := range n {
		buf = append(append(buf, name...), '[')
		buf = append(strconv.AppendInt(buf, int64(i), 10), ']')
		ends[i] = len(buf)
	}
	all, start := string(buf), 0
	ids := make([]string, n)
	for i, end := range ends {
		ids[i] = all[start:end]
		start = end
	}
	return ids
}
