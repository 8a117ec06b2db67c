package telemetry

import (
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/upstream"
)

// What was hidden counts as such, and by no name: a name would tell which of a caller's guesses was right.
func TestHiddenHasNoName(t *testing.T) {
	for _, servers := range []func() []upstream.Status{nil, func() []upstream.Status { return []upstream.Status{{Server: "fs"}} }} {
		m, r := measured(t, MetricsOptions{Tools: true, Servers: servers})
		e := sample()
		e.Result, e.Decided = hub.ResultHidden, false
		m.Observe(t.Context(), e)
		got := read(t, r)
		if got["penstock.requests{mcp.method.name=tools/call,penstock.kind=tools,penstock.result=hidden}"] != 1 {
			t.Errorf("it does not count:\n%s", keysOf(got))
		}
		for key := range got {
			if strings.Contains(key, "hidden") && (strings.Contains(key, "=fs") || strings.Contains(key, "=read")) {
				t.Errorf("it is named: %s", key)
			}
		}
	}
}
