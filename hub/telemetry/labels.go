// Labels.
//
// Every set of labels that ever was is kept by the SDK and sent by every exporter, for as long as the process lives. A
// label that callers can choose is a way to fill memory here and in whatever stores the metrics. So each label is from a
// closed set, or from the configuration, or from a set with a bound. And each is text: one label that is not UTF-8 makes
// an exporter drop every point of its instrument.

package telemetry

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"go.opentelemetry.io/otel/attribute"
)

const (
	maxServers = 1000
	maxTools   = 2000
)

// labels are the labels of one event; those that do not apply are zero.
type labels struct {
	method, result, failure, kind, view, server, tool attribute.KeyValue
}

func (m *Metrics) labelsOf(e *hub.Event) labels {
	l := labels{
		method: attribute.String("mcp.method.name", methodLabel(e)),
		result: attribute.String("penstock.result", field(string(e.Result))),
	}
	switch {
	case failed(e) && e.Err != nil:
		l.failure = attribute.String("error.type", errorType(e.Err))
	case failed(e) && e.Approval.Err != nil:
		l.failure = attribute.String("error.type", errorType(e.Approval.Err))
	case failed(e):
		l.failure = attribute.String("error.type", "panic")
	case e.IsError:
		l.failure = attribute.String("error.type", "tool_error")
	case e.Err != nil && (e.Result == hub.ResultRan || e.Result == hub.ResultPassed):
		l.failure = attribute.String("error.type", errorType(e.Err))
	}
	if hasKind(e) {
		l.kind = attribute.String("penstock.kind", e.Kind.String())
	}
	if m.o.Views != nil && e.Result != hub.ResultPassed && e.Result != hub.ResultMethod {
		view := field(e.Caller.View)
		if e.IdentifyErr != nil || !m.o.Views(e.Caller.View) {
			view = other
		}
		l.view = attribute.String("penstock.view", view)
	}
	if !known(e) || e.Result == hub.ResultHidden || e.Kind == engine.Resources && m.o.Servers == nil {
		return l // of a resource it is an embedder's function that says which server a URI names
	}
	server, ok := m.server(e.Target.Server)
	l.server = attribute.String("penstock.server", server)
	if m.o.Tools && ok && e.Kind == engine.Tools {
		tool := field(e.Target.Name)
		if !m.tools.add(e.Target) {
			tool = other
		}
		l.tool = attribute.String("gen_ai.tool.name", tool)
	}
	return l
}

// methodLabel is the method, unless somebody made it up.
func methodLabel(e *hub.Event) string {
	if e.Result == hub.ResultMethod {
		return other
	}
	return field(e.Method)
}

// server returns the label of a server, and whether it is its name.
func (m *Metrics) server(name string) (string, bool) {
	if m.o.Servers == nil {
		if !m.servers.add(engine.Target{Server: name}) {
			return other, false
		}
		return field(name), true
	}
	if m.servers.has(name) || m.servers.stale() && m.refresh() && m.servers.has(name) {
		return field(name), true
	}
	return other, false
}

// refresh reads the names of the servers that there are.
func (m *Metrics) refresh() bool {
	m.servers.set(m.o.Servers())
	return true
}

// names is a set of names that can be labels.
type names struct {
	limit int
	read  atomic.Int64 // when the servers were last read, in nanoseconds

	mu    sync.RWMutex
	names map[engine.Target]struct{}
}

func newNames(limit int) *names { return &names{limit: limit, names: map[engine.Target]struct{}{}} }

// add reports whether a name is in the set, and puts it there as long as there is room.
func (n *names) add(t engine.Target) bool {
	n.mu.RLock()
	_, ok := n.names[t]
	full := len(n.names) >= n.limit
	n.mu.RUnlock()
	if ok || full {
		return ok
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.names) < n.limit {
		n.names[t] = struct{}{}
	}
	_, ok = n.names[t]
	return ok
}

func (n *names) has(server string) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	_, ok := n.names[engine.Target{Server: server}]
	return ok
}

// stale reports whether the servers have not been read for a second, to one of those who ask at the same time.
func (n *names) stale() bool {
	now, last := time.Now().UnixNano(), n.read.Load()
	return (last == 0 || now-last >= int64(time.Second)) && n.read.CompareAndSwap(last, now)
}
