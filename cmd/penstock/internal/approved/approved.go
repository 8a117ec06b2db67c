// Package approved reads a baseline: which tools were approved, each with the fingerprint it had then.
//
//	{"version": 1, "tools": [{"server": "fs", "name": "write", "fingerprint": "…"}]}
//
// It is read strictly. A file that is damaged in any way, or that lacks anything, is an error and never an empty
// baseline: that would make every tool new and every pin vanish.
package approved

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/source"
	"github.com/penstock-mcp/penstock/engine"
)

const version = 1

// A document is the file. Pointers tell what is missing from what is empty.
type document struct {
	Version *int              `json:"version"`
	Tools   *[]jsontext.Value `json:"tools"`
}

type entry struct {
	Server      *string `json:"server"`
	Name        *string `json:"name"`
	Fingerprint *string `json:"fingerprint"`
}

// Read reads the baseline in file.
func Read(file string) (*engine.Baseline, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, data)
}

// Parse reads a baseline from data; file is for the error.
func Parse(file string, data []byte) (*engine.Baseline, error) {
	var doc document
	if err := unmarshal(data, &doc); err != nil {
		return nil, source.Locate(file, data, err)
	}
	switch {
	case doc.Version == nil:
		return nil, missing(file, "version")
	case *doc.Version != version:
		return nil, fmt.Errorf("%s: baseline version %d: this penstock reads version %d", file, *doc.Version, version)
	case doc.Tools == nil:
		return nil, missing(file, "tools")
	}
	approved := make(map[engine.Target]engine.Fingerprint, len(*doc.Tools))
	var errs []error
	for i, raw := range *doc.Tools {
		target, fingerprint, err := parseEntry(raw)
		if _, twice := approved[target]; err == nil && twice {
			err = fmt.Errorf("%s stands twice", target)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: tools[%d]: %w", file, i, err))
			continue
		}
		approved[target] = fingerprint
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return engine.NewBaseline(approved), nil
}

func parseEntry(raw jsontext.Value) (engine.Target, engine.Fingerprint, error) {
	var e entry
	if err := unmarshal(raw, &e); err != nil {
		return engine.Target{}, "", source.Locate("", raw, err).Err
	}
	var lacks []string
	for _, f := range []struct {
		key   string
		value *string
	}{{"server", e.Server}, {"name", e.Name}, {"fingerprint", e.Fingerprint}} {
		if f.value == nil {
			lacks = append(lacks, f.key)
		}
	}
	if len(lacks) > 0 {
		return engine.Target{}, "", fmt.Errorf("missing: %s", strings.Join(lacks, ", "))
	}
	if err := engine.CheckServerID(*e.Server); err != nil {
		return engine.Target{}, "", err
	}
	return engine.Target{Server: *e.Server, Name: *e.Name}, engine.Fingerprint(*e.Fingerprint), nil
}

func unmarshal(data []byte, v any) error {
	return json.Unmarshal(data, v, json.RejectUnknownMembers(true))
}

func missing(file, key string) error {
	return fmt.Errorf("%s: the key %q is missing (a baseline is %s)", file, key,
		`{"version": 1, "tools": [{"server": …, "name": …, "fingerprint": …}]}`)
}
