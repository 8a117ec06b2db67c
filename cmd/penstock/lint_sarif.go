package main

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/lint"
)

var sarifLevels = map[lint.Severity]string{lint.Error: sarif.LevelError, lint.Warning: sarif.LevelWarning, lint.Info: sarif.LevelNote}

// writeSARIF writes the report as SARIF 2.1.0. Every code is a rule of the run, found or not.
func writeSARIF(w io.Writer, r *lint.Report) error {
	run := sarif.NewRun().WithColumnKind("unicodeCodePoints")
	run.Tool = sarif.NewTool().WithDriver(sarif.NewToolComponent().WithName("penstock").
		WithInformationURI("https://github.com/penstock-mcp/penstock"))
	for _, c := range lint.Codes() {
		run.AddRule(c.ID).WithName(c.Name).WithDescription(capital(c.Summary) + ".").
			WithFullDescription(sarif.NewMultiformatMessageString().WithText(c.Happens)).
			WithHelp(sarif.NewMultiformatMessageString().WithText(c.Happens + "\n\n" + c.Write)).
			WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(sarifLevels[c.Severity]))
	}
	files := make(fileLines)
	for i := range r.Findings {
		f := &r.Findings[i]
		text := f.Sentence() + "\n" + f.Write
		if t := f.Subjects(); t != "" {
			text += "\n" + t
		}
		result := run.CreateResultForRule(f.Code.ID).WithLevel(sarifLevels[f.Severity]).WithMessage(sarif.NewTextMessage(text))
		if f.Position.File != "" {
			result.AddLocation(files.location(f.Position))
		}
		for n, rel := range f.Related {
			if rel.Position.File != "" {
				result.AddRelatedLocation(files.location(rel.Position).WithID(n + 1).WithMessage(sarif.NewTextMessage(rel.Message)))
			}
		}
	}
	out := sarif.NewReport()
	out.AddRun(run)
	var b bytes.Buffer
	if err := out.PrettyWrite(&b); err != nil {
		return fmt.Errorf("SARIF: %w", err)
	}
	if !bytes.HasSuffix(b.Bytes(), []byte("\n")) {
		b.WriteByte('\n')
	}
	_, err := w.Write(b.Bytes())
	return err
}

// fileLines holds the lines of the files that findings are in: our columns count bytes, those of SARIF characters.
type fileLines map[string][]string

func (files fileLines) location(p engine.Position) *sarif.Location {
	physical := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewSimpleArtifactLocation(fileURI(p.File)))
	if p.Line > 0 {
		physical.WithRegion(sarif.NewRegion().WithStartLine(int(p.Line)).WithStartColumn(files.column(p)))
	}
	return sarif.NewLocationWithPhysicalLocation(physical)
}

// column returns the column of p in characters, or in bytes where the file cannot be read any more.
func (files fileLines) column(p engine.Position) int {
	lines, ok := files[p.File]
	if !ok {
		if data, err := os.ReadFile(p.File); err == nil {
			lines = strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)), "\n")
		}
		files[p.File] = lines
	}
	col := int(p.Column)
	if int(p.Line) > len(lines) || col-1 > len(lines[p.Line-1]) {
		return col
	}
	return utf8.RuneCountInString(lines[p.Line-1][:col-1]) + 1
}

// fileURI returns a path as a URI, relative where the path is.
func fileURI(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
		if !strings.HasPrefix(u.Path, "/") { // a drive
			u.Path = "/" + u.Path
		}
	}
	return u.String()
}
