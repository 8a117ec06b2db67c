// Gauges: read when somebody collects, not when something happens.

package telemetry

import (
	"context"
	"errors"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub/upstream"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

var states = []upstream.State{upstream.Connecting, upstream.Up, upstream.Down, upstream.Stopped}

// gauges makes the gauges and the one function that reads what they show, so that they show one moment.
func (m *Metrics) gauges(meter metric.Meter) error {
	var errs []error
	var all []metric.Observable
	gauge := func(name, unit, what string) metric.Int64ObservableGauge {
		g, err := meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
		all = append(all, g)
		return g
	}
	var generation, servers, up, tools, prompts, resources, attempts, problems metric.Int64ObservableGauge
	if m.o.Generation != nil {
		generation = gauge("penstock.generation", "{generation}", "The engine's generation.")
	}
	if m.o.Servers != nil {
		servers = gauge("penstock.servers", "{server}", "Servers by state.")
		up = gauge("penstock.server.up", "1", "Whether a server is connected.")
		tools = gauge("penstock.server.tools", "{tool}", "Tools that a server offers.")
		prompts = gauge("penstock.server.prompts", "{prompt}", "Prompts that a server offers.")
		resources = gauge("penstock.server.resources", "{resource}", "Resources that a server offers.")
		attempts = gauge("penstock.server.attempts", "{attempt}", "Failed attempts to connect in a row.")
		problems = gauge("penstock.server.problems", "{problem}", "What a server got wrong in its lists.")
	}
	if err := errors.Join(errs...); err != nil || len(all) == 0 {
		return err
	}
	reg, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		if generation != nil {
			o.ObserveInt64(generation, int64(m.o.Generation()))
		}
		if servers == nil {
			return nil
		}
		list := m.o.Servers()
		m.servers.set(list)
		in := map[upstream.State]int64{}
		for _, s := range list {
			in[s.State]++
			label := with(attribute.String("penstock.server", field(s.Server)))
			o.ObserveInt64(up, one(s.State == upstream.Up), label)
			o.ObserveInt64(tools, int64(s.Tools), label)
			o.ObserveInt64(prompts, int64(s.Prompts), label)
			o.ObserveInt64(resources, int64(s.Resources), label)
			o.ObserveInt64(attempts, int64(s.Attempts), label)
			o.ObserveInt64(problems, int64(len(s.Problems)), label)
		}
		for _, state := range states {
			o.ObserveInt64(servers, in[state], with(attribute.String("penstock.state", string(state))))
		}
		return nil
	}, all...)
	m.reg = reg
	return err
}

// set makes the servers the names of the set.
func (n *names) set(list []upstream.Status) {
	fresh := make(map[engine.Target]struct{}, len(list))
	for _, s := range list {
		fresh[engine.Target{Server: s.Server}] = struct{}{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names = fresh
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
