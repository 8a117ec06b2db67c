package lint

import (
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// situation is a policy, and what there is around it.
type situation struct {
	policy   string // without its first line, version: 1
	servers  []Server
	approved []engine.Target // nil: no baseline
}

// testCase is a situation that has a finding, and one that hardly differs and has not.
type testCase struct {
	code     *Code
	at       string // the place of the finding
	severity Severity
	says     []string // what its text holds
	bad      situation
	twin     situation
}

// tools is a server with tools of these names.
func tools(server string, names ...string) Server {
	s := Server{ID: server, File: server + ".json"}
	for _, n := range names {
		s.Tools = append(s.Tools, engine.Tool{Server: server, Name: n})
	}
	return s
}

// hinted is a server with one tool.
func hinted(server, name string, h engine.Hints) Server {
	s := tools(server, name)
	s.Tools[0].Hints = h
	return s
}

// resources is a server with resources.
func resources(server string, uris ...string) Server {
	return Server{ID: server, File: server + ".json", Resources: uris}
}

func look(t *testing.T, s situation) *Report {
	t.Helper()
	doc, err := policyfile.Parse([]byte("version: 1\n"+s.policy), policyfile.Options{File: "p.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Document: doc, Servers: s.servers}
	if s.approved != nil {
		approved := make(map[engine.Target]engine.Fingerprint)
		for _, target := range s.approved {
			approved[target] = "x"
		}
		in.Baseline = engine.NewBaseline(approved)
	}
	report, err := Run(in)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func (r *Report) of(c *Code) []Finding {
	var all []Finding
	for _, f := range r.Findings {
		if f.Code == c {
			all = append(all, f)
		}
	}
	return all
}

func text(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEveryCodeHasACaseAndATwinWithout(t *testing.T) {
	seen := make(map[*Code]int)
	for _, c := range append(append(aloneCases, optionCases...), catalogCases...) {
		seen[c.code]++
		t.Run(c.code.ID+"-"+c.code.Name, func(t *testing.T) {
			report := look(t, c.bad)
			found := report.of(c.code)
			if len(found) != 1 {
				t.Fatalf("%d findings, want 1, in\n%s", len(found), text(t, report))
			}
			f := found[0]
			if f.Position.String() != c.at {
				t.Errorf("at %s, want %s", f.Position, c.at)
			}
			if f.Severity != c.severity {
				t.Errorf("severity %s, want %s", f.Severity, c.severity)
			}
			all := text(t, &Report{Findings: found})
			for _, s := range c.says {
				if !strings.Contains(all, s) {
					t.Errorf("no %q in\n%s", s, all)
				}
			}
			if twin := look(t, c.twin); len(twin.of(c.code)) > 0 {
				t.Errorf("the twin has it, too:\n%s", text(t, twin))
			}
		})
	}
	for _, c := range Codes() {
		if seen[c] == 0 {
			t.Errorf("%s (%s) has no case", c.ID, c.Name)
		}
		if seen[c] > 0 && c.Catalogs {
			for _, tc := range catalogCases {
				if tc.code == c && len(tc.bad.servers) == 0 {
					t.Errorf("%s says that it needs catalogs", c.ID)
				}
			}
		}
	}
}
