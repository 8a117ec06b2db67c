// Package telemetry lets a hub be seen from outside: an audit log, metrics, and traces.
//
// [NewAudit] writes one record for every request to a slog.Logger, [Metrics] counts and measures, and [Tracing] makes a
// span of each. All three are observers of a hub.Guard; [Observers] is one that tells several. Metrics and traces need
// the API packages of OpenTelemetry only: which SDK and which exporter there is, if any, is the embedder's.
//
// # What is told
//
// None of the three tells what was in a call's arguments, unless the audit log is asked to. The text of an error may
// quote them, too, so what a server, a predicate or a function of the embedder says went wrong is told by its kind
// alone: the type of the error, the code of a JSON-RPC error, and the text of those errors of this module, of package
// context and of the operating system that name no values. [AuditOptions] has both texts.
//
// Names and URIs are what callers and servers sent, any bytes of any length. A record or a span holds at most 1 KiB of
// each, cut where the rest is said to be missing, and text that does not print is written as a Go string literal, in
// double quotes. Metrics have no label that a caller can choose: see [Metrics].
//
// # The audit record
//
// The message is "mcp request", and the time is the one at which the request came in. What does not apply is left out.
// Durations are in milliseconds, with fractions.
//
//	key              type    what
//	method           string  the MCP method
//	result           string  how it ended: a hub.Result; "" for a request without what its method needs
//	session          string  the session, where it has an id
//	principal        string  who asked; "" for a caller without a name
//	view             string  the engine's view of that caller
//	generation       number  of the snapshot that had the last word
//	kind             string  tools, resources or prompts: what it was about
//	server           string  whose it is, where that is known
//	name             string  as that server and the policy know it
//	exposed          string  as the caller wrote it
//	action           string  allow, ask or deny, where there was a decision
//	source           string  the step that decided: an engine.Source
//	reason           string  why: an engine.Reason
//	rule             string  the id of the rule that decided
//	rule_at          string  where it was written: file:line:column
//	new              bool    true for a tool that the baseline lacks
//	predicate_error  string  why a predicate failed
//	args_digest      string  "sha256:" and the hex digest of the canonical arguments
//	arguments        string  the canonical arguments, where AuditOptions.Arguments is set: at most 16 KiB
//	asked            bool    true where an approver was asked
//	verdict          string  what it said: approved, refused or pending
//	remember         bool    true where the tool is allowed from now on
//	by               string  who decided, where that is known
//	approval_error   string  why it was refused, or what went wrong although it was approved
//	resumed          bool    true for a call that went on by an earlier approval
//	listed           number  of a list: the entries on this page
//	total            number  of a list: the entries on all pages
//	is_error         bool    true for a tool that ran and said that it failed
//	error            string  what the caller was not told, or what the handler failed with
//	identify_error   string  why the caller could not be identified
//	duration_ms      number  all of it
//	backend_ms       number  of that, in the handlers behind the guard
//	waited_ms        number  of that, in the approver
//	trace_id         string  of the span the request is in, where there is one
//	span_id          string  the same
//
// The level is info for what was let through, listed, or asked about; warn for what was denied, refused, hidden,
// malformed, of an unknown method, or changed behind the guard, and for callers that could not be identified; error where something failed that
// should not: a panic, a decision or a list that could not be made, an approver that returned an error, an approval
// that was to be remembered and is not, a server that could not be reached; and debug for methods that touch nothing, such as ping. A server that answers with an error has
// answered: that is info, as is a request that its caller gave up.
package telemetry

import (
	"context"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
)

// scope names this package to OpenTelemetry.
const scope = "github.com/penstock-mcp/penstock/hub/telemetry"

// Observers is an observer that tells each of its own, in order. One that is nil is left out, and one that panics keeps
// nothing from the others. The zero value tells nobody. The slice must not be changed once it is in use.
type Observers []hub.Observer

// Observe tells every observer of e.
func (o Observers) Observe(ctx context.Context, e hub.Event) {
	for _, one := range o {
		tell(ctx, one, e)
	}
}

func tell(ctx context.Context, o hub.Observer, e hub.Event) {
	if o == nil {
		return
	}
	defer func() { _ = recover() }() // what is only told cannot change what was done
	o.Observe(ctx, e)
}

// hasKind reports whether a request was about a kind of thing: the zero Kind is that of tools, too.
func hasKind(e *hub.Event) bool {
	switch e.Result {
	case hub.ResultPassed, hub.ResultMethod:
		return false
	}
	return e.Kind != engine.Tools || e.Method == "tools/call" || e.Method == "tools/list"
}

// known reports whether a request was about something that some server has, or at least that belongs to one.
func known(e *hub.Event) bool { return e.Target != engine.Target{} }
