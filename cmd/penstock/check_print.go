package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
)

// columns are the keys of a row, in the order in which JSON and CSV have them.
var columns = []string{"kind", "server", "name", "visible", "action", "source", "reason", "rule", "new"}

// printJSON writes an array with an object a line.
func printJSON(w io.Writer, rows []row) error {
	var line []byte
	for i, r := range rows {
		line = append(line[:0], ",\n"...)
		if i == 0 {
			line = append(line[:0], "[\n"...)
		}
		line = append(line, `{"kind": "`...)
		line = append(line, kindWords[r.kind]...)
		line = append(line, `", "server": `...)
		line = appendString(line, r.server)
		line = append(line, `, "name": `...)
		line = appendString(line, r.name)
		line = append(line, ", "...)
		line = appendAnswer(line, r.visible, r.decision)
		line = append(line, '}')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	end := "\n]\n"
	if len(rows) == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(w, end)
	return err
}

// printCSV writes a header and a line a row.
func printCSV(w io.Writer, rows []row) error {
	out := csv.NewWriter(w)
	if err := out.Write(columns); err != nil {
		return err
	}
	for _, r := range rows {
		seen := ""
		if r.visible != notFiltered {
			seen = strconv.FormatBool(r.visible == visible)
		}
		d := r.decision
		record := []string{
			kindWords[r.kind], r.server, r.name, seen,
			d.Action.String(), d.Source.String(), d.Reason.String(), d.RuleID(), strconv.FormatBool(d.New),
		}
		for i := range record {
			record[i] = cell(record[i])
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// cell puts a ' before what a spreadsheet could take for a formula: names come from servers, and CSV is what people
// open in spreadsheets. What begins with a ' gets another, so that taking one away always gives the name back.
func cell(s string) string {
	if s == "" {
		return s
	}
	r, _ := utf8.DecodeRuneInString(s)
	if strings.ContainsRune("=+-@'＝＋－＠", r) || unicode.IsControl(r) {
		return "'" + s
	}
	return s
}

// summarize writes the counts of all rows and the notes.
func (c *checker) summarize(w io.Writer, shown int, notes []string) error {
	var b strings.Builder
	all := 0
	for kind := range c.kinds {
		n := &c.kinds[kind]
		all += n.all
		if n.all == 0 && kind != int(engine.Tools) {
			continue
		}
		if kind == int(engine.Tools) {
			fmt.Fprintf(&b, "%s, ", text.Of(c.servers, "server"))
		}
		fmt.Fprintf(&b, "%s: ", text.Of(n.all, kindWords[kind]))
		if kind == int(engine.Tools) {
			fmt.Fprintf(&b, "%s visible, %s hidden; ", text.Count(n.all-n.hidden), text.Count(n.hidden))
		}
		fmt.Fprintf(&b, "%s deny, %s ask, %s allow\n",
			text.Count(n.actions[engine.Deny]), text.Count(n.actions[engine.Ask]), text.Count(n.actions[engine.Allow]))
	}
	if shown != all {
		fmt.Fprintf(&b, "%s of %s are shown.\n", text.Count(shown), text.Of(all, "row"))
	}
	for _, note := range notes {
		b.WriteString(note + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
