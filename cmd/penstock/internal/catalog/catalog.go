// Package catalog reads what MCP servers say of themselves: the results of tools/list, one file a server.
//
//	{"tools": [{"name": "write", "annotations": {"readOnlyHint": false}, …}, …],
//	 "resources": [{"uri": "demo://readme"}, …], "prompts": [{"name": "triage"}, …]}
//
// The id of the server is the base name of the file without its last extension. The same object as the result of
// a JSON-RPC response, {"jsonrpc": "2.0", "id": 1, "result": {…}}, is taken, too. Resources and prompts may be
// objects, as servers send them, or just their URIs and names.
//
// Unknown keys are ignored, since servers send more than the protocol names. What is known is read strictly: JSON that
// is not well-formed, a known key that stands twice, a tool without a name, a name that is not valid Unicode and
// a value of the wrong type are errors, with file, line and column. Nothing of a file that has one is used.
//
// What else a tool's definition holds is the server's business and is kept as it is. A definition that has no
// fingerprint, because a key in it stands twice for example, makes a tool that never counts as unchanged.
package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
)

// A Catalog is what one server lists, in the server's own order.
type Catalog struct {
	Server    string // the operator's id of the server: the file's base name without its last extension
	File      string
	Tools     []engine.Tool // each with its definition byte for byte as it stands in the file
	Resources []string      // URIs
	Prompts   []string      // names

	// Quarantined are the tools that a hub lists and calls none of, since a name does not name one tool: see
	// [engine.Engine.Refresh]. Index is one of Tools, which has them all the same.
	Quarantined []engine.Quarantine

	// Partial says that the file is one page of several: the server sent a cursor for the next one.
	Partial bool
}

// Load reads every file of paths, and every *.json file directly in each folder of paths. The catalogs are sorted
// by server id.
//
// It reports everything that is wrong with any of the files in one error. A folder without a *.json file, an id that
// no server can have and two files with one id are errors, too. With an error there are no catalogs.
//
// Before each file Load calls progress, unless it is nil, with the number of files read and of all.
func Load(paths []string, progress func(done, all int)) ([]*Catalog, error) {
	files, errs := expand(paths)
	var catalogs []*Catalog
	byID := make(map[string]string, len(files))
	for i, file := range files {
		if progress != nil {
			progress(i, len(files))
		}
		id := serverID(file)
		if err := engine.CheckServerID(id); err != nil {
			errs = append(errs, fmt.Errorf("%s: the file's name gives no server id: %w", file, err))
			continue
		}
		if first, ok := byID[id]; ok {
			errs = append(errs, fmt.Errorf("%s: server id %q is already that of %s", file, id, first))
			continue
		}
		byID[id] = file
		data, err := os.ReadFile(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c, err := Parse(id, file, data)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		catalogs = append(catalogs, c)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	slices.SortFunc(catalogs, func(a, b *Catalog) int { return cmp.Compare(a.Server, b.Server) })
	return catalogs, nil
}

// Baseline returns the baseline that approves every tool of catalogs as it is, but for the quarantined ones: of two
// definitions under one name, no baseline can have both. A tool whose definition has no fingerprint is approved with
// an empty one, which never equals any.
func Baseline(catalogs []*Catalog) *engine.Baseline {
	approved := make(map[engine.Target]engine.Fingerprint)
	for _, c := range catalogs {
		out := c.Quarantined
		for i := range c.Tools {
			if len(out) > 0 && out[0].Index == i {
				out = out[1:]
				continue
			}
			t := &c.Tools[i]
			approved[t.Target()] = t.Fingerprint
		}
	}
	return engine.NewBaseline(approved)
}

// expand lists the files that paths stand for.
func expand(paths []string) (files []string, errs []error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		found, err := jsonFiles(path)
		switch {
		case err != nil:
			errs = append(errs, err)
		case len(found) == 0:
			errs = append(errs, fmt.Errorf("%s: the folder holds no *.json file", path))
		}
		files = append(files, found...)
	}
	return files, errs
}

func jsonFiles(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !isDir(folder, e) {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	return files, nil
}

// isDir reports whether e, or what it links to, is a folder.
func isDir(folder string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := os.Stat(filepath.Join(folder, e.Name()))
	return err == nil && info.IsDir()
}

func serverID(file string) string {
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
