package lint

// This file prints a report for people and for the log of a build.

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// WriteText writes the report for people:
//
//	penstock.yaml:14:7: warning PS301 unknown-server: policy.deny[1]: No catalog is of a server "githb", so this matches nothing.
//	    Did you mean "github"?
//
// and a line with the counts at the end.
func (r *Report) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i := range r.Findings {
		f := &r.Findings[i]
		if p := f.Position.String(); p != "" {
			fmt.Fprintf(b, "%s: ", p)
		}
		fmt.Fprintf(b, "%s %s %s: ", f.Severity, f.Code.ID, f.Code.Name)
		if f.Rule != "" {
			fmt.Fprintf(b, "%s: ", f.Rule)
			if f.Text != "" {
				fmt.Fprintf(b, "%s: ", clip(f.Text))
			}
		}
		fmt.Fprintf(b, "%s\n    %s\n", f.Message, f.Write)
		for _, rel := range f.Related {
			at := rel.Position.String()
			if at != "" {
				at += ": "
			}
			fmt.Fprintf(b, "    %s%s\n", at, clip(rel.Message))
		}
		if f.MoreRelated > 0 {
			fmt.Fprintf(b, "    … and %d more\n", f.MoreRelated)
		}
		if t := f.Subjects(); t != "" {
			fmt.Fprintf(b, "    %s\n", t)
		}
	}
	fmt.Fprintf(b, "%s\n", r.Summary())
	return b.Flush()
}

// Summary counts the findings: "1 error, 2 warnings, 3 infos".
func (r *Report) Summary() string {
	if len(r.Findings) == 0 {
		return "no findings"
	}
	var n [Error + 1]int
	for i := range r.Findings {
		n[r.Findings[i].Severity]++
	}
	return fmt.Sprintf("%s, %s, %s", of(n[Error], "error"), of(n[Warning], "warning"), of(n[Info], "info"))
}

// Subjects lists what the finding is about, "tools: fs/write, fs/\"a\u202eb\" … and 3 more", or returns "".
func (f *Finding) Subjects() string {
	if len(f.Targets) == 0 {
		return ""
	}
	var all []string
	for _, t := range f.Targets {
		all = append(all, bare(t.Server)+"/"+bare(t.Name))
	}
	s := f.Kind.String() + ": " + strings.Join(all, ", ")
	if len(f.Targets) == 1 && f.MoreTargets == 0 {
		s = noun(f.Kind) + ": " + all[0]
	}
	if f.MoreTargets > 0 {
		s += fmt.Sprintf(" … and %d more", f.MoreTargets)
	}
	return s
}

// bare returns s without quotes where it needs none.
func bare(s string) string {
	if q := quote(s); s == "" || q != `"`+s+`"` || strings.ContainsAny(s, " ,") {
		return q
	}
	return s
}

// clip returns a text that holds quoted parts of a document cut short and without what could disturb a terminal.
func clip(s string) string {
	const limit = 200
	var b strings.Builder
	for _, c := range s {
		if b.Len() > limit {
			b.WriteString("…")
			break
		}
		if strconv.IsPrint(c) {
			b.WriteRune(c)
		} else {
			q := strconv.QuoteRuneToASCII(c)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}

// WriteGitHub writes the report as workflow commands, which GitHub shows beside the lines they are about.
func (r *Report) WriteGitHub(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i := range r.Findings {
		f := &r.Findings[i]
		command := map[Severity]string{Error: "error", Warning: "warning", Info: "notice"}[f.Severity]
		var props []string
		prop := func(key, value string) { props = append(props, key+"="+escapeProperty.Replace(value)) }
		if f.Position.File != "" {
			prop("file", f.Position.File)
		}
		if f.Position.Line > 0 {
			prop("line", strconv.Itoa(int(f.Position.Line)))
			prop("col", strconv.Itoa(int(f.Position.Column)))
		}
		prop("title", f.Code.ID+" "+f.Code.Name)
		text := f.Sentence() + "\n" + f.Write
		if t := f.Subjects(); t != "" {
			text += "\n" + t
		}
		fmt.Fprintf(b, "::%s %s::%s\n", command, strings.Join(props, ","), escapeData.Replace(text))
	}
	return b.Flush()
}

// Sentence returns the rule and what happens in one sentence.
func (f *Finding) Sentence() string {
	if f.Rule == "" {
		return f.Message
	}
	return f.Rule + ": " + f.Message
}

// What a workflow command takes as its own.
var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
