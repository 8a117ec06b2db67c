// Package approved reads the baseline that a command is given: which tools were approved, each with the fingerprint it
// had then. See package lockfile for the file.
package approved

import (
	"errors"
	"fmt"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/source"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/lockfile"
)

// Read reads the baseline in file. A file that is damaged in any way, or that lacks anything, is an error and never an
// empty baseline; the error joins a [*source.Error] for everything that is wrong with it.
func Read(file string) (*engine.Baseline, error) {
	f, err := lockfile.Load(file)
	if err == nil {
		return f.Baseline(), nil
	}
	var all *lockfile.Error
	if !errors.As(err, &all) {
		return nil, err
	}
	errs := make([]error, len(all.Entries))
	for i, e := range all.Entries {
		errs[i] = place(file, e)
	}
	return nil, errors.Join(errs...)
}

func place(file string, e *lockfile.EntryError) error {
	if e.Position.Line == 0 {
		return e
	}
	cause := e.Err
	if e.Path != "" {
		cause = fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return &source.Error{File: file, Line: int(e.Position.Line), Column: int(e.Position.Column), Err: cause}
}
