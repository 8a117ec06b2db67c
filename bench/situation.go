package bench

import (
	"context"
	"errors"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
)

// Situation is what a call brings along for dynamic rules, as plain data.
type Situation struct {
	Path, Mode string // arguments
	OnCall     bool   // an attribute of the caller
	Taint      []string
}

// Situations are the situations that calls are made in, in turn.
var Situations = [8]Situation{
	{Path: "/srv/data/a", Mode: "read"},
	{Path: "/etc/passwd", Mode: "write", OnCall: true},
	{Path: "/srv/data/b", Mode: "admin", Taint: []string{"fetched-pages"}},
	{Path: "/srv/data/c", Mode: "read", OnCall: true},
	{Path: "/etc/hosts", Mode: "read", Taint: []string{"fetched-pages"}},
	{Path: "/srv/data/d", Mode: "write"},
	{Path: "/srv/data/e", Mode: "read", OnCall: true, Taint: []string{"fetched-pages"}},
	{Path: "/srv/data/f", Mode: "list"},
}

// Args returns the arguments as decoded JSON.
func (s *Situation) Args() map[string]any { return map[string]any{"path": s.Path, "mode": s.Mode} }

// Request returns the rest, with an approver at hand.
func (s *Situation) Request() *engine.Request {
	return &engine.Request{HasApprover: true, Taint: s.Taint, Attributes: map[string]any{"on_call": s.OnCall}}
}

// holds is what the condition comes to, in plain words.
func (w When) holds(s *Situation) bool {
	switch w {
	case Always:
		return true
	case OnCall:
		return s.OnCall
	case PathInEtc:
		return strings.HasPrefix(s.Path, "/etc/")
	case ModeWrites:
		return s.Mode == "write" || s.Mode == "admin"
	default:
		return len(s.Taint) > 0 // no server of a workload is called like the one in there
	}
}

// rule returns the pattern under the condition.
func (w When) rule(pattern string) engine.Rule {
	p := engine.Pattern(pattern)
	switch w {
	case Always:
		return p
	case OnCall:
		return engine.All(p, engine.Func("on_call", func(_ context.Context, in engine.Input) (bool, error) {
			v, _ := in.Attribute("on_call")
			on, ok := v.(bool)
			if !ok {
				return false, errors.New("on_call is no boolean")
			}
			return on, nil
		}))
	case PathInEtc:
		return engine.All(p, engine.Args("path_in_etc", func(_ context.Context, in engine.Input) (bool, error) {
			v, _ := in.Arg("path")
			path, ok := v.(string)
			if !ok {
				return false, errors.New("path is no string")
			}
			return strings.HasPrefix(path, "/etc/"), nil
		}))
	case ModeWrites:
		return engine.All(p, engine.Arg("mode", engine.In("write", "admin")))
	default:
		return engine.All(p, engine.Tainted())
	}
}
