// The audit log.

package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/penstock-mcp/penstock/hub"
	"go.opentelemetry.io/otel/trace"
)

// AuditOptions are the options of [NewAudit]. The zero value tells no argument values.
type AuditOptions struct {
	// Arguments writes the canonical arguments of each call, and the whole text of errors. The guard has to hand them on:
	// see hub.GuardOptions.
	Arguments bool

	// Errors writes the whole text of errors, which may quote arguments, without the arguments themselves.
	Errors bool
}

// NewAudit returns an observer that writes one record for each event: the package comment has the schema. A nil logger is
// slog.Default.
//
// Records are for a handler that escapes what it writes, such as slog.JSONHandler and slog.TextHandler. A sink that
// cannot be written to does not stop calls: the error of the handler is lost, so an embedder for whom calls must not run
// unseen has to watch the sink itself. A handler that blocks does hold up the request that it is told of.
//
// Cost: some microseconds and a few allocations; nothing below the handler's level.
func NewAudit(l *slog.Logger, o AuditOptions) hub.Observer {
	if l == nil {
		l = slog.Default()
	}
	return &audit{l.Handler(), o}
}

type audit struct {
	h slog.Handler
	o AuditOptions
}

// Observe writes the record of an event.
func (a *audit) Observe(ctx context.Context, e hub.Event) {
	level := levelOf(&e)
	if !a.h.Enabled(ctx, level) {
		return
	}
	r := slog.NewRecord(e.Time, level, "mcp request", 0)
	a.add(ctx, &r, &e)
	_ = a.h.Handle(ctx, r) // nobody is left to be told
}

func levelOf(e *hub.Event) slog.Level {
	if failed(e) {
		return slog.LevelError
	}
	if e.IdentifyErr != nil {
		return slog.LevelWarn
	}
	switch e.Result {
	case hub.ResultPassed:
		return slog.LevelDebug
	case hub.ResultListed, hub.ResultPending:
		return slog.LevelInfo
	case hub.ResultRan:
		if _, answered := code(e.Err); e.Err == nil || answered || errors.Is(e.Err, context.Canceled) {
			return slog.LevelInfo
		}
		return slog.LevelWarn // let through, and held up behind the guard
	default:
		return slog.LevelWarn
	}
}

func (a *audit) add(ctx context.Context, r *slog.Record, e *hub.Event) {
	attrs := make([]slog.Attr, 0, 32)
	text := func(key, value string) { attrs = append(attrs, slog.String(key, field(value))) }
	some := func(key, value string) {
		if value != "" {
			text(key, value)
		}
	}
	yes := func(key string, value bool) {
		if value {
			attrs = append(attrs, slog.Bool(key, true))
		}
	}
	err := func(key string, value error, safe func(error) string) {
		switch {
		case value == nil:
		case a.o.Errors || a.o.Arguments:
			text(key, value.Error())
		default:
			text(key, safe(value))
		}
	}

	text("method", e.Method)
	text("result", string(e.Result))
	some("session", e.Session)
	if e.Result != hub.ResultPassed && e.Result != hub.ResultMethod { // of which nobody asks whose they are
		text("principal", e.Caller.Principal)
		text("view", e.Caller.View)
		attrs = append(attrs, slog.Uint64("generation", e.Generation))
	}
	if hasKind(e) {
		text("kind", e.Kind.String())
	}
	some("server", e.Target.Server)
	some("name", e.Target.Name)
	some("exposed", e.Exposed)
	if e.Decided {
		rule := e.Decision.Rule()
		text("action", e.Decision.Action.String())
		text("source", e.Decision.Source.String())
		text("reason", e.Decision.Reason.String())
		some("rule", rule.ID)
		some("rule_at", rule.Position.String())
		yes("new", e.Decision.New)
		err("predicate_error", e.Decision.Err, safeText)
	}
	some("args_digest", e.ArgsDigest)
	if a.o.Arguments && e.Arguments != nil {
		attrs = append(attrs, slog.String("arguments", bounded(string(e.Arguments), maxArguments)))
	}
	if e.Asked {
		yes("asked", true)
		text("verdict", e.Approval.Verdict.String())
		yes("remember", e.Approval.Remember)
		some("by", e.Approval.By)
		err("approval_error", e.Approval.Err, safeText)
	}
	if e.Result == hub.ResultListed {
		attrs = append(attrs, slog.Int("listed", e.Listed), slog.Int("total", e.Total))
	}
	yes("resumed", e.Resumed)
	yes("is_error", e.IsError)
	switch {
	case e.Result == hub.ResultMalformed:
		err("error", e.Err, malformedText)
	case !ofVerdict(e) || !e.Asked:
		err("error", e.Err, safeText)
	}
	err("identify_error", e.IdentifyErr, safeText)
	attrs = append(attrs, millis("duration_ms", e.Duration))
	if e.Backend != 0 {
		attrs = append(attrs, millis("backend_ms", e.Backend))
	}
	if e.Asked {
		attrs = append(attrs, millis("waited_ms", e.Waited))
	}
	if s := trace.SpanContextFromContext(ctx); s.IsValid() {
		attrs = append(attrs, slog.String("trace_id", s.TraceID().String()), slog.String("span_id", s.SpanID().String()))
	}
	r.AddAttrs(attrs...)
}

func millis(key string, d time.Duration) slog.Attr {
	return slog.Float64(key, float64(d)/float64(time.Millisecond))
}
