package lint

// This file writes a report for programs.

import (
	"encoding/json"
	"io"

	"github.com/penstock-mcp/penstock/engine"
)

type jsonReport struct {
	Findings []jsonFinding `json:"findings"`
	Counts   jsonCounts    `json:"counts"`
}

type jsonCounts struct {
	Error   int `json:"error"`
	Warning int `json:"warning"`
	Info    int `json:"info"`
}

type jsonPlace struct {
	File   string `json:"file,omitempty"`
	Line   int32  `json:"line,omitempty"`
	Column int32  `json:"column,omitempty"`
}

type jsonFinding struct {
	Code     string `json:"code"`
	Name     string `json:"name"`
	Severity string `json:"severity"`
	jsonPlace
	Rule        string        `json:"rule,omitempty"`
	Text        string        `json:"text,omitempty"`
	Message     string        `json:"message"`
	Write       string        `json:"write"`
	Related     []jsonRelated `json:"related,omitempty"`
	MoreRelated int           `json:"more_related,omitempty"`
	Kind        string        `json:"kind,omitempty"`
	Targets     []jsonTarget  `json:"targets,omitempty"`
	MoreTargets int           `json:"more_targets,omitempty"`
}

type jsonRelated struct {
	jsonPlace
	Message string `json:"message"`
}

type jsonTarget struct {
	Server string `json:"server"`
	Name   string `json:"name"`
}

// WriteJSON writes the report as one JSON object: {"findings": […], "counts": {"error", "warning", "info"}}. A finding
// has code, name, severity, message and write; file, line and column where it has a place; rule and text where it is
// about a rule; related places, and with kind, the targets it is about. What was cut from these two lists is counted
// in more_related and more_targets.
func (r *Report) WriteJSON(w io.Writer) error {
	out := jsonReport{Findings: []jsonFinding{}}
	for i := range r.Findings {
		f := &r.Findings[i]
		switch f.Severity {
		case Error:
			out.Counts.Error++
		case Warning:
			out.Counts.Warning++
		default:
			out.Counts.Info++
		}
		j := jsonFinding{Code: f.Code.ID, Name: f.Code.Name, Severity: f.Severity.String(), jsonPlace: placeOf(f.Position),
			Rule: f.Rule, Text: f.Text, Message: f.Message, Write: f.Write, MoreRelated: f.MoreRelated, MoreTargets: f.MoreTargets}
		for _, rel := range f.Related {
			j.Related = append(j.Related, jsonRelated{placeOf(rel.Position), rel.Message})
		}
		for _, t := range f.Targets {
			j.Kind = noun(f.Kind)
			j.Targets = append(j.Targets, jsonTarget(t))
		}
		out.Findings = append(out.Findings, j)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func placeOf(p engine.Position) jsonPlace { return jsonPlace{p.File, p.Line, p.Column} }
