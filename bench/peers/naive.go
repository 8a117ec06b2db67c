package peers

import (
	"strings"

	"github.com/penstock-mcp/penstock/bench"
)

// naive is the loop that one writes first. It looks at the shape of a rule, which a general glob does not allow, and so is
// as fast as a loop gets. It can express all of our semantics: it is what our reference does.
type naive []bench.Rule

func naiveList(rules []bench.Rule, loose bool) (naive, error) {
	return naive(spelled(rules, loose)), nil
}

func (n naive) match(server, tool string) bool {
	for i := range n {
		if r := &n[i]; (r.Server == "*" || r.Server == server) && shapeMatches(r, tool) {
			return true
		}
	}
	return false
}

func shapeMatches(r *bench.Rule, tool string) bool {
	switch r.Shape {
	case bench.Literal:
		return r.Text == tool
	case bench.Infix:
		return strings.Contains(tool, r.Text)
	default:
		return strings.HasPrefix(tool, r.Text)
	}
}

// memo is a map of answers in front of the loop: the rival in the steady state, when every name has come before. It takes
// no lock, which only one goroutine may do: a map that is shared needs one, or is slower (docs/perf.md has the numbers).
// It holds for static rules only, it must be thrown away whenever a rule changes, and names that callers make up
// make it grow.
type memo struct {
	answers map[bench.Name]bench.List
	lists   *threeLists
}

func memoPolicy(w *bench.Workload) (Decider, error) {
	lists, err := newThreeLists(w, naiveList)
	return &memo{make(map[bench.Name]bench.List), lists}, err
}

func (m *memo) Decide(server, tool string) bench.List {
	n := bench.Name{Server: server, Tool: tool}
	answer, ok := m.answers[n]
	if !ok {
		answer = m.lists.Decide(server, tool)
		m.answers[bench.Name{Server: strings.Clone(server), Tool: strings.Clone(tool)}] = answer
	}
	return answer
}

// Forget implements Forgetter.
func (m *memo) Forget() { clear(m.answers) }

// Change forgets all answers.
func (m *memo) Change(c Change) (Decider, error) {
	lists, err := m.lists.Change(c)
	if err != nil {
		return nil, err
	}
	return &memo{make(map[bench.Name]bench.List), lists.(*threeLists)}, nil
}

// memoFilter remembers which tools are visible: a list is a look-up for each.
type memoFilter struct {
	names   []bench.Name
	visible map[bench.Name]bool
}

func newMemoFilter(w *bench.Workload) (Lister, error) {
	slow, err := filterOf(naiveList)(w)
	if err != nil {
		return nil, err
	}
	f := &memoFilter{w.Known, make(map[bench.Name]bool, len(w.Known))}
	for _, i := range slow.List(nil) {
		f.visible[w.Known[i]] = true
	}
	return f, nil
}

func (f *memoFilter) List(dst []int32) []int32 {
	for i, n := range f.names {
		if f.visible[n] {
			dst = append(dst, int32(i))
		}
	}
	return dst
}
