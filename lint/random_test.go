package lint

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// Random policies over random servers: nothing panics, and equal inputs have equal reports.
func TestRunIsDeterministic(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	m := ruleMaker{rand.New(rand.NewPCG(seed, 2))}
	codes := make(map[*Code]bool)
	for range 300 {
		doc := &policyfile.Document{}
		for range 8 {
			// A filter takes patterns and expressions only.
			r := m.rule(0)
			if s := r.Inspect(); s.Form == engine.FormPattern || s.Form == engine.FormRegexp {
				if m.IntN(2) == 0 {
					doc.Filter.Include = append(doc.Filter.Include, r)
				} else {
					doc.Filter.Exclude = append(doc.Filter.Exclude, r)
				}
			}
			r = m.rule(2)
			switch m.IntN(3) {
			case 0:
				doc.Policy.Deny = append(doc.Policy.Deny, r)
			case 1:
				doc.Policy.Ask = append(doc.Policy.Ask, engine.All(r, engine.Tainted("a")))
			default:
				doc.Policy.Allow = append(doc.Policy.Allow, r)
			}
		}
		doc.Policy.AllowNewTools, doc.Policy.TrustAll = m.IntN(2) == 0, m.IntN(4) == 0
		in := Input{Document: doc}
		for _, id := range []string{"a", "B", "b-"}[:m.IntN(4)] {
			s := Server{ID: id, File: id + ".json"}
			for range m.IntN(6) {
				s.Tools = append(s.Tools, engine.Tool{Server: id, Name: m.segment(), Hints: engine.Hints{ReadOnly: engine.Hint(m.IntN(3))}})
			}
			in.Servers = append(in.Servers, s)
		}
		if m.IntN(2) == 0 {
			in.Baseline = engine.NewBaseline(map[engine.Target]engine.Fingerprint{{Server: "a", Name: "a"}: "x"})
		}
		first, err := Run(in)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Run(in)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := text(t, first), text(t, second); a != b {
			t.Fatalf("one report is\n%s\nand another one\n%s", a, b)
		}
		for _, f := range first.Findings {
			codes[f.Code] = true
			if f.Message == "" || f.Write == "" {
				t.Fatalf("%s says nothing: %+v", f.Code.ID, f)
			}
		}
	}
	if len(codes) < 15 {
		t.Fatalf("%d codes were found: the test is vacuous", len(codes))
	}
}

func TestRunRefusesWhatCannotBe(t *testing.T) {
	bad := &policyfile.Document{Policy: engine.PolicyOptions{Deny: []engine.Rule{engine.Pattern("fs/")}}}
	if _, err := Run(Input{Document: bad}); err == nil {
		t.Error("a policy that does not compile is refused")
	}
	for _, servers := range [][]Server{{tools("a:b", "x")}, {tools("a", "x"), tools("a", "y")}} {
		if _, err := Run(Input{Document: &policyfile.Document{}, Servers: servers}); err == nil {
			t.Errorf("%v: refused", servers)
		}
	}
}
