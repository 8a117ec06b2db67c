// The instruments, and what an event adds to them. Which labels there are is in labels.go, gauges are in gauges.go.

package telemetry

import (
	"context"
	"errors"

	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/upstream"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// MetricsOptions are the options of [NewMetrics]. With the zero value there are no gauges, and the labels of which there
// could be many are left out.
type MetricsOptions struct {
	// Servers returns how the servers behind the hub are doing, for gauges and to know which names are names of servers.
	// It is called when metrics are collected, and at most once a second in between. Nil: there are no gauges of servers.
	Servers func() []upstream.Status

	// Generation returns the engine's generation. Nil: there is no gauge of it.
	Generation func() uint64

	// Views reports whether a view is configured: a view is a label only if it is. Nil: no view is a label.
	Views func(view string) bool

	// Tools makes the name of a tool a label, as its server has it, of the first 2,000 tools that are called.
	Tools bool
}

// Metrics is an observer that counts and measures. Make one with [NewMetrics]; a nil *Metrics does nothing.
//
//	penstock.requests              counter    requests; every label below
//	mcp.server.operation.duration  histogram  seconds, all of a request; by method, result, error.type and tool
//	penstock.guard.duration        histogram  seconds in the guard: without handlers and approvers; by method and result
//	penstock.backend.duration      histogram  seconds in the handlers behind the guard; by method, result and server
//	penstock.approval.duration     histogram  seconds in the approver; by verdict
//	penstock.approvals             counter    answers; by verdict, remember, kind, server and, of a refusal, error.type
//	penstock.lists                 counter    lists; by method, and error.type for those that could not be made
//	penstock.list.entries          counter    entries shown on lists; by method
//	penstock.generation            gauge      the engine's
//	penstock.servers               gauge      servers; by state, with 0 for a state that none is in
//	penstock.server.up             gauge      1 for a server that is connected, and 0 for another one
//	penstock.server.tools          gauge      tools that a server offers; so are prompts and resources
//	penstock.server.attempts       gauge      failed attempts to connect in a row
//	penstock.server.problems       gauge      what a server got wrong in its lists
//
// The labels, each of a set that no caller can add to:
//
//	mcp.method.name    the methods of the protocol and those the guard was told of; _OTHER for what it does not know
//	error.type         a code that JSON-RPC reserves, tool_error, timeout, canceled, server_down, server_lost,
//	                   changed, unanswered, declined, panic or _OTHER
//	penstock.result    a hub.Result
//	penstock.action    with penstock.source and penstock.reason, where there was a decision
//	penstock.kind      tools, resources or prompts
//	penstock.view      where MetricsOptions.Views knows it, and _OTHER where not
//	penstock.server    where the target is known, the request was not hidden, and it is a server of MetricsOptions.Servers;
//	                   without that option the server of a tool or a prompt, for the first 1,000 that come up
//	gen_ai.tool.name   where MetricsOptions.Tools is set and penstock.server is
//
// Names beyond a bound are _OTHER. Principals, URIs, arguments and exposed names are no labels.
type Metrics struct {
	o       MetricsOptions
	servers *names
	tools   *names
	reg     metric.Registration

	requests, approvals, lists, entries metric.Int64Counter

	duration, guard, backend, waited metric.Float64Histogram
}

var (
	// As OpenTelemetry's conventions for MCP have them.
	longBuckets = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}
	// A guard takes microseconds; a list of thousands of tools, or a slow predicate, takes milliseconds.
	guardBuckets = []float64{1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1, 1}
	// Memory answers in less than a millisecond, people in minutes.
	backendBuckets = []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}
	humanBuckets   = []float64{0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600}
)

// NewMetrics returns an observer whose instruments come from p; nil is otel.GetMeterProvider. It returns an error where
// an instrument cannot be made. Call Close when it is no longer used.
func NewMetrics(p metric.MeterProvider, o MetricsOptions) (*Metrics, error) {
	if p == nil {
		p = otel.GetMeterProvider()
	}
	meter := p.Meter(scope)
	m := &Metrics{o: o, servers: newNames(maxServers), tools: newNames(maxTools)}
	var errs []error
	counter := func(name, unit, what string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
		return c
	}
	seconds := func(name, what string, buckets []float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(buckets...))
		errs = append(errs, err)
		return h
	}
	m.requests = counter("penstock.requests", "{request}", "Requests that the guard has seen.")
	m.approvals = counter("penstock.approvals", "{approval}", "Answers of the approver.")
	m.lists = counter("penstock.lists", "{list}", "Lists that were asked for.")
	m.entries = counter("penstock.list.entries", "{entry}", "Entries shown on lists.")
	m.duration = seconds("mcp.server.operation.duration", "MCP request or notification duration as observed on the receiver.", longBuckets)
	m.guard = seconds("penstock.guard.duration", "Time in the guard itself.", guardBuckets)
	m.backend = seconds("penstock.backend.duration", "Time in the handlers behind the guard.", backendBuckets)
	m.waited = seconds("penstock.approval.duration", "Time in the approver.", humanBuckets)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := m.gauges(meter); err != nil {
		return nil, err
	}
	return m, nil
}

// Close ends the gauges. It may be called more than once.
func (m *Metrics) Close() error {
	if m == nil || m.reg == nil {
		return nil
	}
	return m.reg.Unregister()
}

// Observe adds an event.
//
// Cost: some microseconds and allocations, most of them in the SDK behind the instruments.
func (m *Metrics) Observe(ctx context.Context, e hub.Event) {
	if m == nil || m.requests == nil {
		return
	}
	l := m.labelsOf(&e)

	all := make([]attribute.KeyValue, 0, 10)
	all = append(all, l.method, l.result)
	for _, more := range [...]attribute.KeyValue{l.kind, l.view, l.server, l.tool} {
		all = given(all, more)
	}
	if e.Decided {
		all = append(all,
			attribute.String("penstock.action", e.Decision.Action.String()),
			attribute.String("penstock.source", e.Decision.Source.String()),
			attribute.String("penstock.reason", e.Decision.Reason.String()))
	}
	m.requests.Add(ctx, 1, with(all...))

	few := with(l.method, l.result)
	m.duration.Record(ctx, e.Duration.Seconds(), with(given(given([]attribute.KeyValue{l.method, l.result}, l.failure), l.tool)...))
	m.guard.Record(ctx, max(0, e.Duration-e.Backend-e.Waited).Seconds(), few)
	if e.Backend != 0 {
		m.backend.Record(ctx, e.Backend.Seconds(), with(given([]attribute.KeyValue{l.method, l.result}, l.server)...))
	}
	if e.Asked {
		verdict := attribute.String("penstock.verdict", e.Approval.Verdict.String())
		var why attribute.KeyValue
		if e.Approval.Err != nil {
			why = attribute.String("error.type", errorType(e.Approval.Err))
		}
		m.waited.Record(ctx, e.Waited.Seconds(), with(verdict))
		m.approvals.Add(ctx, 1, with(given(given(given([]attribute.KeyValue{
			verdict, attribute.Bool("penstock.remember", e.Approval.Remember),
		}, l.kind), l.server), why)...))
	}
	if e.Result == hub.ResultListed {
		m.lists.Add(ctx, 1, with(given([]attribute.KeyValue{l.method}, l.failure)...))
		m.entries.Add(ctx, int64(e.Listed), with(l.method))
	}
}

// given appends a label that is there.
func given(to []attribute.KeyValue, kv attribute.KeyValue) []attribute.KeyValue {
	if kv.Valid() {
		to = append(to, kv)
	}
	return to
}

func with(kv ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(kv...))
}
