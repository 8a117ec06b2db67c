package bench

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/penstock-mcp/penstock/automaton"
	"github.com/penstock-mcp/penstock/engine"
)

// PolicyOptions returns the policy. Allow rules may match new tools, so that a name that was never seen meets all of
// the rules, and pins are on.
func (w *Workload) PolicyOptions() engine.PolicyOptions {
	return engine.PolicyOptions{
		Deny: engineRules(w.Deny), Ask: engineRules(w.Ask), Allow: engineRules(w.Allow), AllowNewTools: true,
	}
}

// FilterOptions returns the filter.
func (w *Workload) FilterOptions() engine.FilterOptions {
	return engine.FilterOptions{Include: engineRules(w.Include), Exclude: engineRules(w.Exclude)}
}

func engineRules(rules []Rule) []engine.Rule {
	out := make([]engine.Rule, len(rules))
	for i, r := range rules {
		out[i] = r.When.rule(r.Pattern())
	}
	return out
}

// Patterns returns the anchors of all rules of the policy, deny before ask before allow.
func (w *Workload) Patterns() []automaton.Pattern {
	var out []automaton.Pattern
	for _, l := range [...][]Rule{w.Deny, w.Ask, w.Allow} {
		for _, r := range l {
			out = append(out, automaton.Pattern{Server: r.Server, Name: r.Tool()})
		}
	}
	return out
}

// ServerTools is the tool list of one server.
type ServerTools struct {
	ID    string
	Tools []engine.Tool
}

// Catalog returns the known tools, server by server, each with its fingerprint given.
func (w *Workload) Catalog() []ServerTools {
	return w.catalog(func(n Name) engine.Tool {
		return engine.Tool{Server: n.Server, Name: n.Tool, Fingerprint: fingerprint(n)}
	})
}

// RawCatalog returns the known tools with a raw definition each, whose fingerprint is still to be computed.
func (w *Workload) RawCatalog() []ServerTools {
	return w.catalog(func(n Name) engine.Tool { return engine.Tool{Server: n.Server, Name: n.Tool, Raw: definition(n)} })
}

func (w *Workload) catalog(tool func(Name) engine.Tool) []ServerTools {
	var out []ServerTools
	for _, n := range w.Known {
		if len(out) == 0 || out[len(out)-1].ID != n.Server {
			out = append(out, ServerTools{ID: n.Server})
		}
		s := &out[len(out)-1]
		s.Tools = append(s.Tools, tool(n))
	}
	return out
}

// Baseline returns the baseline of [Workload.Catalog]: every known tool is approved as it is.
func (w *Workload) Baseline() *engine.Baseline {
	approved := make(map[engine.Target]engine.Fingerprint, len(w.Known))
	for _, n := range w.Known {
		approved[engine.Target{Server: n.Server, Name: n.Tool}] = fingerprint(n)
	}
	return engine.NewBaseline(approved)
}

// fingerprint makes up a fingerprint of the usual length.
func fingerprint(n Name) engine.Fingerprint {
	h := fnv.New128a()
	fmt.Fprintf(h, "%s\x00%s", n.Server, n.Tool)
	return engine.Fingerprint(fmt.Sprintf("%x%x", h.Sum(nil), h.Sum(nil)))
}

// definition makes up a definition of about 800 bytes. Those under testdata/catalogs have 263 at the median, but have
// lost most of their descriptions.
func definition(n Name) json.RawMessage {
	words := strings.NewReplacer("_", " ", "-", " ").Replace(n.Tool)
	return json.RawMessage(fmt.Sprintf(`{"name":%q,"description":"Use this tool to %s on %s. It takes the identifier of `+
		`what it works on and answers with the object as it is afterwards; lists come in pages.","inputSchema":{"type":"object",`+
		`"properties":{"id":{"type":"string","description":"The identifier, as a list or a search returns it."},"limit":`+
		`{"type":"integer","minimum":1,"maximum":100,"default":25},"cursor":{"type":"string","description":"The page to start `+
		`at."},"fields":{"type":"array","items":{"type":"string"},"description":"The fields to return; all where it is empty."}},`+
		`"required":["id"],"additionalProperties":false},"annotations":{"readOnlyHint":false,"openWorldHint":true}}`,
		n.Tool, words, n.Server))
}

// Calls returns a call of each name in the order of [Workload.Order], with the arguments of the [Situations] in turn
// where the workload has dynamic rules. The strings are the calls' own, as those of a decoded request are.
func (w *Workload) Calls(names []Name) []engine.Call {
	out := make([]engine.Call, len(names))
	for i, n := range w.Order {
		out[i] = engine.Call{Server: strings.Clone(names[n].Server), Name: strings.Clone(names[n].Tool)}
		if w.Size.Dynamic > 0 {
			out[i].Args = Situations[i%len(Situations)].Args()
		}
	}
	return out
}

// Requests returns what goes with each of the [Situations].
func Requests() [len(Situations)]*engine.Request {
	var out [len(Situations)]*engine.Request
	for i := range Situations {
		out[i] = Situations[i].Request()
	}
	return out
}
