package policyfile

import (
	"context"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
)

// Predicates holds the Go functions that a document may use, by the name it uses them under:
//
//	allow:
//	  - {predicate: business_hours}
type Predicates map[string]Predicate

// Predicate is a function for a document. Make one with [ToolPredicate] or [ArgsPredicate]; the zero Predicate is
// refused when a document that uses it is compiled.
type Predicate struct {
	f    func(context.Context, engine.Input) (bool, error)
	args bool // it may read arguments
}

// ToolPredicate returns a predicate that reads no arguments, for filters and policies: see [engine.Func].
func ToolPredicate(f func(context.Context, engine.Input) (bool, error)) Predicate {
	return Predicate{f: f}
}

// ArgsPredicate returns a predicate that may read the call's arguments, for policies only: see [engine.Args].
func ArgsPredicate(f func(context.Context, engine.Input) (bool, error)) Predicate {
	return Predicate{f: f, args: true}
}

// rule returns the rule that p decides.
func (p Predicate) rule(name string) engine.Rule {
	if p.args {
		return engine.Args(name, p.f)
	}
	return engine.Func(name, p.f)
}

// names returns the names of the predicates, sorted.
func (ps Predicates) names() []string {
	names := make([]string, 0, len(ps))
	for name := range ps {
		names = append(names, name)
	}
	slices.SortFunc(names, strings.Compare)
	return names
}
