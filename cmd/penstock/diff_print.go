package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
)

// anythingWords is what stands for everything that no catalog lists.
var anythingWords = [...]string{
	engine.Tools: "(any other tool)", engine.Resources: "(any other resource)", engine.Prompts: "(any other prompt)",
}

func (i *diffItem) String() string {
	if i.anything {
		return anythingWords[i.kind]
	}
	name := text.Plain(i.server) + "/" + text.Plain(i.name)
	if i.kind != engine.Tools {
		name = kindWords[i.kind] + " " + name
	}
	return name
}

func (d *differ) writeText(w io.Writer, p painter) error {
	sections := []struct {
		title, style string
		is           func(*diffItem) bool
	}{
		{"wider", styleOld, func(i *diffItem) bool { return i.wider }},
		{"narrower", styleNew, func(i *diffItem) bool { return i.narrower && !i.wider }},
		{"behind the filter", styleDim, func(i *diffItem) bool { return !i.narrower && !i.wider }},
	}
	var b strings.Builder
	for _, s := range sections {
		n := d.count(s.is)
		if n == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s\n", p.paint(styleBold, fmt.Sprintf("%s: %s", s.title, text.Count(n))))
		for i := range d.items {
			if it := &d.items[i]; s.is(it) {
				fmt.Fprintf(&b, "  %s\n", p.paint(s.style, it.String()))
				writeSituations(&b, it)
			}
		}
		b.WriteByte('\n')
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
		b.Reset()
	}
	if len(d.items) == 0 {
		b.WriteString("Nothing differs.\n")
	}
	for _, note := range d.notes {
		b.WriteString(note + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeSituations writes a line for each change, with the situations in which it comes about.
func writeSituations(b *strings.Builder, it *diffItem) {
	type line struct {
		change, when string
		mark         string
		states       [2][]string // with and without somebody to ask
	}
	var lines []line
	all := [2][]string{}
	for i := range it.situations {
		s := &it.situations[i]
		l := line{change: s.String(), when: whenText(s.when), mark: "."}
		switch n := s.direction(); {
		case n > 0 || s.uncertain:
			l.mark = "+"
		case n < 0:
			l.mark = "-"
		}
		at := slices.IndexFunc(lines, func(o line) bool { return o.change == l.change && o.when == l.when })
		if at < 0 {
			at = len(lines)
			lines = append(lines, l)
		}
		which := 0
		if !s.approver {
			which = 1
		}
		lines[at].states[which] = append(lines[at].states[which], s.state)
		if !slices.Contains(all[which], s.state) {
			all[which] = append(all[which], s.state)
		}
	}
	width := 0
	for _, l := range lines {
		width = max(width, text.Width(l.change))
	}
	for _, l := range lines {
		fmt.Fprintf(b, "    %s %s  %s\n", l.mark, text.Pad(l.change, width), stateText(l.states))
		if l.when != "" {
			fmt.Fprintf(b, "        when %s\n", l.when)
		}
	}
}

// stateText says in which situations.
func stateText(states [2][]string) string {
	with, without := strings.Join(states[0], ", "), strings.Join(states[1], ", ")
	join := func(who, what string) string {
		if what == "" {
			return who
		}
		return who + ": " + what
	}
	switch {
	case states[0] == nil:
		return join("nobody to ask", without)
	case states[1] == nil:
		return join("somebody to ask", with)
	case with == without:
		if with == "" {
			return "always"
		}
		return with
	default:
		return join("somebody to ask", with) + "; " + join("nobody to ask", without)
	}
}

// String shows the change: "ask (default) → allow (allow[3])".
func (s *situation) String() string {
	if s.uncertain {
		return "too many conditions to compare"
	}
	return s.old.String() + " → " + s.new.String()
}

func (r standing) String() string {
	words := r.action.String()
	if r.visible == hidden {
		words = "hidden, " + words
	}
	return words + " (" + text.Plain(r.by) + ")"
}

// whenText says which answers lead to a change.
func whenText(when []given) string {
	var parts []string
	for _, g := range when {
		parts = append(parts, text.Line(g.condition.text)+": "+answerWords[g.answer])
	}
	return strings.Join(parts, ", ")
}

type itemJSON struct {
	Kind       string          `json:"kind"`
	Server     *string         `json:"server"`
	Name       *string         `json:"name"`
	Wider      bool            `json:"wider"`
	Narrower   bool            `json:"narrower"`
	Situations []situationJSON `json:"situations"`
}

type situationJSON struct {
	Approver  bool          `json:"approver"`
	State     *string       `json:"state"`
	Direction string        `json:"direction"`
	Old       *standingJSON `json:"old"`
	New       *standingJSON `json:"new"`
	When      []answerJSON  `json:"when"`
}

type standingJSON struct {
	Visible *bool  `json:"visible,omitempty"`
	Action  string `json:"action"`
	By      string `json:"by"`
}

type answerJSON struct {
	Condition string `json:"condition"`
	Answer    string `json:"answer"`
}

func (d *differ) writeJSON(w io.Writer) error {
	out := struct {
		Changes []itemJSON `json:"changes"`
		Notes   []string   `json:"notes"`
	}{[]itemJSON{}, d.notes}
	for i := range d.items {
		it := &d.items[i]
		j := itemJSON{Kind: kindWords[it.kind], Wider: it.wider, Narrower: it.narrower}
		if !it.anything {
			j.Server, j.Name = &it.server, &it.name
		}
		for k := range it.situations {
			j.Situations = append(j.Situations, it.situations[k].json())
		}
		out.Changes = append(out.Changes, j)
	}
	data, err := marshalIndent(out)
	if err != nil {
		return err
	}
	_, err = w.Write(text.EscapeJSON(data))
	return err
}

func (s *situation) json() situationJSON {
	j := situationJSON{Approver: s.approver, State: orNull(s.state), Direction: "hidden", When: []answerJSON{}}
	switch n := s.direction(); {
	case s.uncertain:
		j.Direction = "wider"
		return j
	case n > 0:
		j.Direction = "wider"
	case n < 0:
		j.Direction = "narrower"
	}
	j.Old, j.New = s.old.json(), s.new.json()
	for _, g := range s.when {
		j.When = append(j.When, answerJSON{g.condition.text, answerWords[g.answer]})
	}
	return j
}

func (r standing) json() *standingJSON {
	j := &standingJSON{Action: r.action.String(), By: r.by}
	if r.visible != notFiltered {
		seen := r.visible == visible
		j.Visible = &seen
	}
	return j
}
