package fuzz

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
)

// A NamedPredicate is a Go function that definitions know by name. Its behaviour is fixed by the name, so that the
// reference knows it without calling it.
type NamedPredicate struct {
	Name string
	Args bool // it looks at arguments: it is made with engine.Args, and policies alone take it
	Func func(context.Context, engine.Input) (bool, error)
}

// Rule returns the predicate as a rule of package engine.
func (p NamedPredicate) Rule() engine.Rule {
	if p.Args {
		return engine.Args(p.Name, p.Func)
	}
	return engine.Func(p.Name, p.Func)
}

var errPlanned = errors.New("this predicate always fails")

const serverIs = "server_is_"

// Predicates returns the predicates of the vectors: yes, no, panic and error, hide_attribute (the request's
// attribute hide, an error if it is no boolean), args_yes, args_no, args_panic and args_error, and
// server_is_X (the called server is X) for each of the servers.
func Predicates(servers ...string) []NamedPredicate {
	constant := func(result bool, err error) func(context.Context, engine.Input) (bool, error) {
		return func(context.Context, engine.Input) (bool, error) { return result, err }
	}
	panics := func(context.Context, engine.Input) (bool, error) { panic("this predicate always panics") }
	list := []NamedPredicate{
		{Name: "yes", Func: constant(true, nil)},
		{Name: "no", Func: constant(false, nil)},
		{Name: "panic", Func: panics},
		{Name: "error", Func: constant(true, errPlanned)},
		{Name: "hide_attribute", Func: func(_ context.Context, in engine.Input) (bool, error) {
			v, _ := in.Attribute("hide")
			hide, ok := v.(bool)
			if !ok {
				return false, fmt.Errorf("attribute hide is %T, not a boolean", v)
			}
			return hide, nil
		}},
		{Name: "args_yes", Args: true, Func: constant(true, nil)},
		{Name: "args_no", Args: true, Func: constant(false, nil)},
		{Name: "args_panic", Args: true, Func: panics},
		{Name: "args_error", Args: true, Func: constant(false, errPlanned)},
	}
	for _, server := range servers {
		list = append(list, NamedPredicate{Name: serverIs + server, Func: func(_ context.Context, in engine.Input) (bool, error) {
			return in.Server() == server, nil
		}})
	}
	return list
}

// findPredicate returns the predicate with the given name.
func findPredicate(name string) (NamedPredicate, bool) {
	server := strings.TrimPrefix(name, serverIs)
	for _, p := range Predicates(server) {
		if p.Name == name {
			return p, true
		}
	}
	return NamedPredicate{}, false
}

// knownPredicate reports whether a name is registered.
func knownPredicate(name string) bool {
	_, ok := findPredicate(name)
	return ok
}

// readsArgs reports whether the predicate is an argument predicate.
func readsArgs(name string) bool { return strings.HasPrefix(name, "args_") }

// predicateHolds says what a predicate comes to, without calling it. "A predicate that panics or returns an error"
// fails (section 5.4).
func predicateHolds(name string, q question) truth {
	switch name {
	case "yes", "args_yes":
		return yes
	case "no", "args_no":
		return no
	case "panic", "error", "args_panic", "args_error":
		return failed
	case "hide_attribute":
		hide, ok := q.request.Attributes["hide"].(bool)
		if !ok {
			return failed
		}
		return truthOf(hide)
	}
	return truthOf(name == serverIs+q.target.Server)
}
