package engine

import (
	"context"

	"github.com/penstock-mcp/penstock/automaton"
)

// FilterOptions are the entries of a filter: patterns, regexps and [Func] rules about tools. The zero value shows
// every tool; a nil list equals an empty one.
type FilterOptions struct {
	// Include holds the entries one of which a tool must match to be seen, exactly. Where it is empty, every
	// tool that is not excluded is seen.
	Include []Rule

	// Exclude holds the entries that hide a tool. They match loosely, and always win.
	Exclude []Rule
}

// Filter decides which tools a caller sees at all. A hidden tool is as good as not there: in no list, and a call to
// it fails like a call to a tool that does not exist.
//
// A Filter is immutable and safe for concurrent use. A nil *Filter and the zero Filter, which was never compiled, hide
// everything; the filter of the zero [FilterOptions] hides nothing.
type Filter struct {
	include, exclude filterList
	showAll          bool // there is no include entry: what is not excluded is seen
}

// filterList is one list of a filter.
type filterList struct {
	rules []compiledRule
	index *automaton.Index // the static entries; numbered as static
	// static gives the rule for each number of index, ascending; nil where every rule is static, so that the number
	// is the rule's own.
	static  []int32
	dynamic []*compiledRule // the functions, in list order
}

// CompileFilter compiles a filter. It reports every bad entry in one [CompileError].
//
// Cost: linear in the size of the entries.
func CompileFilter(o FilterOptions) (*Filter, error) {
	var c compiler
	include, exclude := c.list(ListInclude, o.Include), c.list(ListExclude, o.Exclude)
	if err := c.err(); err != nil {
		return nil, err
	}
	return &Filter{
		include: newFilterList(automaton.Exact, include),
		exclude: newFilterList(automaton.Folded, exclude),
		showAll: len(o.Include) == 0,
	}, nil
}

func newFilterList(mode automaton.Mode, l compiledList) filterList {
	out := filterList{rules: l.rules}
	for i := range l.rules {
		if r := &l.rules[i]; r.isDynamic() {
			out.dynamic = append(out.dynamic, r)
		}
	}
	anchors := l.anchors
	if out.dynamic != nil {
		anchors = nil
		for i, a := range l.anchors {
			if !l.rules[i].isDynamic() {
				out.static = append(out.static, int32(i))
				anchors = append(anchors, a)
			}
		}
	}
	out.index = automaton.Build(mode, anchors)
	return out
}

// StaticVisible reports whether the static entries alone, patterns and regexps, leave the tool in sight. No
// function is called: an include list that holds one keeps every tool that is not excluded, for
// [Filter.Visible] to decide. It never hides a tool that Visible could show, so that filtering at refresh
// and again at read time equals Visible alone.
//
// Cost: one pass over the bytes of the two names for each of the lists, whatever the number of entries. It
// allocates nothing.
func (f *Filter) StaticVisible(t *Tool) bool {
	if f == nil || t == nil || f.exclude.index.Any(t.Server, t.Name) {
		return false
	}
	return f.showAll || f.include.dynamic != nil || f.include.index.Any(t.Server, t.Name)
}

// Visible reports whether the caller that req describes sees the tool.
//
// A function entry that panics or returns an error counts as matching in exclude and as not matching in
// include: either way it hides. A nil *Filter hides everything, and a nil tool is hidden.
//
// Cost: that of [Filter.StaticVisible], plus one call for each function entry that is left to ask. It allocates
// nothing unless a function does.
//
// Visible is safe for concurrent use: it takes no lock and writes no shared memory.
func (f *Filter) Visible(ctx context.Context, t *Tool, req *Request) bool {
	if f == nil || t == nil || f.exclude.index.Any(t.Server, t.Name) {
		return false
	}
	in := f.showAll || f.include.index.Any(t.Server, t.Name)
	if in && f.exclude.dynamic == nil {
		return true
	}
	return f.functions(ctx, t, req.or(), req.or().Approved, in)
}

// functions is what is left of Visible for a tool that no static exclude entry hides. included says whether a static
// include entry matches, or there is no include entry.
func (f *Filter) functions(ctx context.Context, t *Tool, req *Request, base *Baseline, included bool) bool {
	in := Input{tool: t, req: req, base: base}
	for _, r := range f.exclude.dynamic {
		if v, _ := r.dynamicHolds(ctx, in); v != verdictNo {
			return false
		}
	}
	if included {
		return true
	}
	for _, r := range f.include.dynamic {
		if v, _ := r.dynamicHolds(ctx, in); v == verdictYes {
			return true
		}
	}
	return false
}
