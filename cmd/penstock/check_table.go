package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
)

// tableStyle says what a table is written on.
type tableStyle struct {
	columns int  // of the terminal; 0 for anything else, where nothing is shortened
	colour  bool // escape sequences
}

// Bounds of a table, in terminal columns.
const (
	padLimit = 60 // what is longer sticks out and moves nothing: the longest of 4,504 real names has 57
	minName  = 20 // what a narrow terminal leaves of the name and of the rule
	minRule  = 10
	gap      = 2
)

// The columns of a table.
const (
	colKind = iota
	colName
	colVisible
	colDecision
	colSource
	colReason
	colRule
	colNew
	tableColumns
)

var headings = [tableColumns]string{"KIND", "NAME", "VISIBLE", "DECISION", "SOURCE", "REASON", "RULE", "NEW"}

// printTable writes rows for people, a group a server. The columns KIND and NEW are there only where they say
// anything: when something is not a tool, and when something is new.
func printTable(w io.Writer, rows []row, style tableStyle) error {
	if len(rows) == 0 {
		return nil
	}
	t := table{style: style}
	t.measure(rows)
	var b strings.Builder
	t.write(&b, headings, func(_ int, cell string) string { return t.paint(styleBold, cell) })
	server := ""
	for i := range rows {
		r := &rows[i]
		if i == 0 || r.server != server {
			server = r.server
			fmt.Fprintf(&b, "\n%s\n", t.paint(styleBold, text.Plain(server)))
		}
		t.write(&b, cells(r), func(column int, cell string) string {
			switch {
			case column == colDecision:
				return t.paint(actionStyle[r.decision.Action], cell)
			case r.visible == hidden:
				return t.paint(styleDim, cell)
			default:
				return cell
			}
		})
		if b.Len() > 32<<10 {
			if _, err := io.WriteString(w, b.String()); err != nil {
				return err
			}
			b.Reset()
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// table holds the widths of the columns; 0 for one that is left out.
type table struct {
	style tableStyle
	width [tableColumns]int
}

func (t *table) measure(rows []row) {
	for i := range rows {
		for column, cell := range cells(&rows[i]) {
			t.width[column] = max(t.width[column], min(text.Width(cell), padLimit))
		}
	}
	for column, heading := range headings {
		t.width[column] = max(t.width[column], len(heading))
	}
	if !slices.ContainsFunc(rows, func(r row) bool { return r.kind != engine.Tools }) {
		t.width[colKind] = 0
	}
	if !slices.ContainsFunc(rows, func(r row) bool { return r.decision.New }) {
		t.width[colNew] = 0
	}
	if t.style.columns == 0 {
		return
	}
	// Too wide for the terminal: the name gives way first, then the rule.
	total := 0
	for _, w := range t.width {
		if w > 0 {
			total += w + gap
		}
	}
	for _, give := range []struct{ column, least int }{{colName, minName}, {colRule, minRule}} {
		if over := total - t.style.columns; over > 0 {
			w := max(t.width[give.column]-over, min(t.width[give.column], give.least))
			total -= t.width[give.column] - w
			t.width[give.column] = w
		}
	}
}

// write writes one line; paint gets a padded cell.
func (t *table) write(b *strings.Builder, line [tableColumns]string, paint func(column int, cell string) string) {
	last := colRule
	if t.width[colNew] > 0 {
		last = colNew
	}
	for column, cell := range line {
		w := t.width[column]
		if w == 0 {
			continue
		}
		b.WriteString(strings.Repeat(" ", gap))
		if t.style.columns > 0 {
			cell = text.Clip(cell, w)
		}
		if column != last {
			cell = text.Pad(cell, w)
		}
		b.WriteString(paint(column, cell))
	}
	b.WriteByte('\n')
}

func cells(r *row) [tableColumns]string {
	d := r.decision
	seen := "-"
	switch r.visible {
	case visible:
		seen = "yes"
	case hidden:
		seen = "no"
	}
	rule, isNew := "-", "-"
	if id := d.RuleID(); id != "" {
		rule = text.Plain(id)
	}
	if d.New {
		isNew = "new"
	}
	return [tableColumns]string{
		kindWords[r.kind], text.Plain(r.name), seen,
		d.Action.String(), d.Source.String(), d.Reason.String(), rule, isNew,
	}
}

// The escape sequences of the styles, without the brackets.
const (
	styleBold = "1"
	styleDim  = "2"
)

var actionStyle = [...]string{engine.Deny: "31", engine.Ask: "33", engine.Allow: "32"}

func (t *table) paint(style, s string) string {
	if !t.style.colour {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}
