package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"

	"github.com/penstock-mcp/penstock/engine"
)

// The JSON of an explanation. Its first keys are those of a row of check.

type explanationJSON struct {
	Kind        string         `json:"kind"`
	Server      string         `json:"server"`
	Name        string         `json:"name"`
	Found       bool           `json:"found"`
	Visible     *bool          `json:"visible,omitempty"`
	Action      string         `json:"action"`
	Source      string         `json:"source"`
	Reason      string         `json:"reason"`
	Rule        *string        `json:"rule"`
	New         bool           `json:"new"`
	Error       string         `json:"error,omitempty"`
	Message     string         `json:"message,omitempty"`
	Trusted     *bool          `json:"trusted,omitempty"`
	Hints       *hintsJSON     `json:"hints,omitempty"`
	Filter      []traceJSON    `json:"filter"`
	Steps       []stepJSON     `json:"steps"`
	NearMisses  []nearMissJSON `json:"near_misses"`
	Suggestions []string       `json:"suggestions"`
	Notes       []string       `json:"notes"`
}

// hintsJSON is what the server says; null is nothing.
type hintsJSON struct {
	ReadOnly    *bool `json:"read_only"`
	Destructive *bool `json:"destructive"`
	OpenWorld   *bool `json:"open_world"`
	Idempotent  *bool `json:"idempotent"`
}

type stepJSON struct {
	Source  string      `json:"source"`
	Decides bool        `json:"decides"`
	Note    string      `json:"note,omitempty"`
	Rules   []traceJSON `json:"rules"`
}

type ruleJSON struct {
	ID      string `json:"rule"`
	List    string `json:"list"`
	Index   int    `json:"index"`
	Text    string `json:"text"`
	File    string `json:"file,omitempty"`
	Line    int32  `json:"line,omitempty"`
	Column  int32  `json:"column,omitempty"`
	Message string `json:"message,omitempty"`
}

type traceJSON struct {
	ruleJSON
	Result  string       `json:"result"`
	Counts  bool         `json:"counts"`
	Error   string       `json:"error,omitempty"`
	Members []memberJSON `json:"members,omitempty"`
}

type memberJSON struct {
	Text   string `json:"text"`
	Result string `json:"result"`
	Error  string `json:"error,omitempty"`
}

type nearMissJSON struct {
	Kind string `json:"kind"`
	ruleJSON
	Why string `json:"why"`
}

func writeExplanationJSON(w io.Writer, x *explanation) error {
	data, err := marshalIndent(x.json())
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// marshalIndent returns v as JSON on several lines, with what does not print escaped: see [appendString].
func marshalIndent(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	if !bytes.ContainsFunc(b.Bytes(), needsEscape) {
		return b.Bytes(), nil
	}
	var out []byte
	for _, r := range b.String() { // such characters stand nowhere but in strings
		if needsEscape(r) {
			for _, unit := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
			continue
		}
		out = append(out, string(r)...)
	}
	return out, nil
}

func (x *explanation) json() *explanationJSON {
	d := x.Decision
	j := &explanationJSON{
		Kind: kindWords[x.kind], Server: x.server, Name: x.name, Found: x.Found,
		Action: d.Action.String(), Source: d.Source.String(), Reason: d.Reason.String(), New: d.New,
		Error: errorText(d.Err), Message: d.Rule().Message,
		Filter: traces(x.Filter), Steps: []stepJSON{}, NearMisses: []nearMissJSON{},
		Suggestions: orEmpty(x.suggestions), Notes: orEmpty(x.notes),
	}
	if id := d.RuleID(); id != "" {
		j.Rule = &id
	}
	if x.kind == engine.Tools {
		j.Visible, j.Trusted = &x.Visible, &x.Trusted
		h := x.tool.Hints
		j.Hints = &hintsJSON{triState(h.ReadOnly), triState(h.Destructive), triState(h.OpenWorld), triState(h.Idempotent)}
	}
	for _, s := range x.Steps {
		j.Steps = append(j.Steps, stepJSON{Source: s.Source.String(), Decides: s.Decides, Note: s.Note, Rules: traces(s.Rules)})
	}
	for _, m := range x.NearMisses {
		j.NearMisses = append(j.NearMisses, nearMissJSON{m.Kind.String(), ruleOf(m.Rule), x.why(m)})
	}
	return j
}

func traces(list []engine.RuleTrace) []traceJSON {
	out := make([]traceJSON, len(list))
	for i, t := range list {
		out[i] = traceJSON{ruleJSON: ruleOf(t.Rule), Result: t.Result.String(), Counts: t.Counts, Error: errorText(t.Err)}
		for _, m := range t.Members {
			out[i].Members = append(out[i].Members, memberJSON{m.Text, m.Result.String(), errorText(m.Err)})
		}
	}
	return out
}

func ruleOf(r engine.RuleInfo) ruleJSON {
	p := r.Position
	return ruleJSON{r.ID, r.List.String(), r.Index, r.Text, p.File, p.Line, p.Column, r.Message}
}

func triState(h engine.Hint) *bool {
	if h == engine.Unset {
		return nil
	}
	return new(h == engine.True)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
