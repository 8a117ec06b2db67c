package policyfile

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

// The corpora are documents in testdata, each file holding many:
//
//	good.txtar    documents that are taken
//	bad.txtar     documents with one fault that the JSON Schema sees, too
//	beyond.txtar  documents with one fault that is beyond a schema
//
// After a bad document, the section NAME.want holds the whole message. "go test -update" writes it; read what it
// wrote.
var update = flag.Bool("update", false, "write the messages of bad documents to testdata")

// section is one file of an archive.
type section struct{ name, body string }

// readSections reads an archive in the format of txtar.
func readSections(t testing.TB, path string) []section {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var sections []section
	for line := range strings.Lines(string(data)) {
		name, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "-- ")
		if name, closed := strings.CutSuffix(name, " --"); ok && closed {
			sections = append(sections, section{name: name})
			continue
		}
		require.NotEmpty(t, sections, path)
		sections[len(sections)-1].body += line
	}
	require.NotEmpty(t, sections, path)
	return sections
}

// compile parses and compiles a document as the corpora mean it.
func compile(name, body string) error {
	doc, err := Parse([]byte(body), Options{File: name, Predicates: testPredicates})
	if err == nil {
		_, _, err = doc.Compile()
	}
	return err
}

var testPredicates = Predicates{
	"business_hours": ToolPredicate(yes),
	"args_yes":       ArgsPredicate(yes),
}

func yes(context.Context, engine.Input) (bool, error) { return true, nil }

func TestGoodDocumentsAreTaken(t *testing.T) {
	for _, s := range readSections(t, "testdata/good.txtar") {
		t.Run(s.name, func(t *testing.T) { require.NoError(t, compile(s.name, s.body)) })
	}
}

func TestBadDocumentsAreRefused(t *testing.T) {
	for _, path := range []string{"testdata/bad.txtar", "testdata/beyond.txtar"} {
		sections := readSections(t, path)
		var out bytes.Buffer
		for i, s := range sections {
			if strings.HasSuffix(s.name, ".want") {
				continue
			}
			err := compile(s.name, s.body)
			if *update {
				fmt.Fprintf(&out, "-- %s --\n%s-- %s.want --\n%v\n", s.name, s.body, s.name, err)
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				require.Error(t, err)
				require.Less(t, i+1, len(sections))
				require.Equal(t, s.name+".want", sections[i+1].name)
				require.Equal(t, sections[i+1].body, err.Error()+"\n")
				requireTyped(t, err)
			})
		}
		if *update {
			require.NoError(t, os.WriteFile(path, out.Bytes(), 0o644))
		}
	}
}

// requireTyped checks that an error of Parse or Compile has entries with places, in order.
func requireTyped(t testing.TB, err error) {
	t.Helper()
	var all *Error
	require.ErrorAs(t, err, &all)
	require.NotEmpty(t, all.Entries)
	last := engine.Position{}
	for _, e := range all.Entries {
		require.Error(t, e.Err)
		require.NotErrorIs(t, e.Err, errReported)
		require.Positive(t, e.Position.Line, "%v", e)
		require.Positive(t, e.Position.Column, "%v", e)
		require.False(t, e.Position.Line < last.Line || e.Position.Line == last.Line && e.Position.Column < last.Column, "%v", err)
		last = e.Position
		var entry *engine.EntryError
		if errors.As(e.Err, &entry) {
			require.Equal(t, e.Position, entry.Position)
		}
	}
}
