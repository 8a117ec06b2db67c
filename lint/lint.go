package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// Input is what is looked at.
type Input struct {
	Document *policyfile.Document

	// Servers are all servers that the policy is for. Without any, only the policy itself is looked at.
	Servers []Server

	// Baseline holds the approved tools. Nil: it is not known which they are; no tool then counts as new.
	Baseline *engine.Baseline
}

// Server is what one server lists.
type Server struct {
	ID        string
	File      string // the catalog it was read from, for the places of findings about its tools
	Tools     []engine.Tool
	Resources []string // URIs
	Prompts   []string // names
}

// Severity says how bad a finding is.
type Severity uint8

// The severities, ascending.
const (
	Info    Severity = iota // works as documented, and surprises
	Warning                 // is probably not what was meant
	Error                   // cannot be what was meant, or opens what looks closed
)

var severityNames = [...]string{"info", "warning", "error"}

// String returns info, warning or error.
func (s Severity) String() string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return fmt.Sprintf("Severity(%d)", uint8(s))
}

// ParseSeverity returns the severity that word names.
func ParseSeverity(word string) (Severity, error) {
	if i := slices.Index(severityNames[:], word); i >= 0 {
		return Severity(i), nil
	}
	return 0, fmt.Errorf("unknown severity %q (write info, warning or error)", word)
}

// A Finding is one thing that is likely to be wrong.
type Finding struct {
	Code     *Code
	Severity Severity // that of the code, or lower
	Position engine.Position
	Rule     string // the rule it is about: "policy.deny[2] (no-shell)", or "" where it is about no rule
	Text     string // that rule as a document writes it
	Message  string // what happens
	Write    string // what to write instead

	// Related are other places that matter, such as the rule that takes this one's place; Kind and Targets are what it
	// is about on the servers. The lists are cut short: MoreRelated and MoreTargets say by how many.
	Related     []Related
	MoreRelated int
	Kind        engine.Kind
	Targets     []engine.Target
	MoreTargets int

	group string // findings of one code with equal non-empty groups are joined if they are many
}

// Related is another place that matters to a finding.
type Related struct {
	Position engine.Position
	Message  string
}

// Report is what was found, sorted by place.
type Report struct {
	Findings []Finding
}

// Count returns the number of findings of at least the given severity.
func (r *Report) Count(at Severity) int {
	n := 0
	for i := range r.Findings {
		if r.Findings[i].Severity >= at {
			n++
		}
	}
	return n
}

// Run looks at a policy. It returns an error, that of [policyfile.Document.Compile], for a document that does not
// compile, and one for servers that no catalog could be of.
//
// Cost: about linear in the number of rules and tools, and in what rules match what; 10,000 rules and 10,000 tools take
// about a second.
func Run(in Input) (*Report, error) {
	filter, policy, err := in.Document.Compile()
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(in.Servers))
	for _, s := range in.Servers {
		if err := engine.CheckServerID(s.ID); err != nil {
			return nil, err
		}
		if seen[s.ID] {
			return nil, fmt.Errorf("two catalogs are of the server %q", s.ID)
		}
		seen[s.ID] = true
	}
	l := newLinter(in, filter, policy)
	l.overlaps()
	l.ruleHints()
	l.ruleRegexps()
	l.rulePaths()
	l.ruleNames()
	l.options()
	if len(in.Servers) > 0 {
		judge, err := l.static()
		if err != nil {
			return nil, err
		}
		l.tools = l.subjects(engine.Tools, judge)
		l.unknownServers()
		l.againstServers()
		l.toolNames()
		l.toolHints()
	}
	return &Report{Findings: l.sorted()}, nil
}

// Bounds of what one finding shows: beyond them nobody reads on.
const (
	maxTargets = 5
	maxRelated = 5
	maxGroup   = 5 // of findings that say the same of different rules
)

// sorted joins what says the same too often, and sorts by place.
func (l *linter) sorted() []Finding {
	type key struct {
		code  *Code
		group string
	}
	count := make(map[key]int)
	for i := range l.findings {
		if f := &l.findings[i]; f.group != "" {
			count[key{f.Code, f.group}]++
		}
	}
	var out []Finding
	first := make(map[key]int)
	for _, f := range l.findings {
		k := key{f.Code, f.group}
		if f.group == "" || count[k] <= maxGroup {
			out = append(out, f)
			continue
		}
		i, ok := first[k]
		if !ok {
			first[k] = len(out)
			f.Message += fmt.Sprintf(" The same holds for %s more.", of(count[k]-1, "rule"))
			out = append(out, f)
			continue
		}
		out[i].relate(f.Position, "the same: "+f.Rule)
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.fileRank(l), b.fileRank(l)),
			cmp.Compare(a.Position.File, b.Position.File),
			cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column),
			cmp.Compare(a.Code.ID, b.Code.ID),
		)
	})
	return out
}

// fileRank puts the policy before the catalogs.
func (f *Finding) fileRank(l *linter) int {
	if f.Position.File == l.file {
		return 0
	}
	return 1
}

// relate adds a related place, as long as there is room.
func (f *Finding) relate(p engine.Position, message string) {
	if len(f.Related) >= maxRelated {
		f.MoreRelated++
		return
	}
	f.Related = append(f.Related, Related{Position: p, Message: message})
}

// show adds what the finding is about, as long as there is room.
func (f *Finding) show(t engine.Target) {
	if len(f.Targets) >= maxTargets {
		f.MoreTargets++
		return
	}
	f.Targets = append(f.Targets, t)
}
