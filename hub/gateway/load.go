// Loading a configuration: hub.yaml, and every file it names.

package gateway

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/upstream"
	"github.com/penstock-mcp/penstock/lockfile"
	"github.com/penstock-mcp/penstock/policyfile"
)

// stderrFile is the word for standard error in audit.file.
const stderrFile = "stderr"

// LoadOptions are the options of [Load]. The zero value takes everything from the file.
type LoadOptions struct {
	Listen string // instead of the file's
	Stdio  bool   // even though the file, or Listen, says where to listen

	// Getenv looks up environment variables. Nil: the process's.
	Getenv func(string) (string, bool)
}

// Load reads the configuration in the file at path, and the policies, servers and baseline it names; policies are
// compiled.
//
// The error holds everything that is wrong with any of them, joined, each with its place; errors of the file system name
// where the file is named. A baseline that is not there is none. No server is started.
func Load(path string, o LoadOptions) (*Config, error) {
	c, _, err := load(path, o, nil)
	return c, err
}

// load is Load. It takes compiled policies from before where their files are the same, and returns what it read also
// where there is an error, so that one can wait for that to change.
func load(path string, o LoadOptions, before *Config) (*Config, []file, error) {
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	if o.Stdio {
		o.Listen = ""
	}
	if o.Listen != "" {
		if err := checkAddress(o.Listen); err != nil {
			return nil, nil, fmt.Errorf("listen: %w", err)
		}
	}
	var read files
	data, err := read.load(path)
	if err != nil {
		return nil, read.read, err
	}
	r := &reader{
		c: &Config{
			Path:  path,
			Views: map[string]engine.View{},
			Stdio: hub.Caller{View: hub.DefaultView},
		},
		o: o, dir: filepath.Dir(path), getenv: o.Getenv,
		policies: map[string]ref{}, tokens: map[[sha256.Size]byte]int{},
	}
	if err := policyfile.Read(data, policyfile.Options{File: path}, r.read); err != nil {
		// What the file names is not loaded, but a change there may be the next thing that somebody does.
		return nil, r.noteOnly(read.read), err
	}
	errs := []error{r.loadPolicies(&read, before), r.loadServers(&read), r.loadBaseline(&read)}
	if err := errors.Join(errs...); err != nil {
		return nil, read.read, err
	}
	r.c.files = read.read
	return r.c, read.read, nil
}

// noteOnly adds the files that a bad configuration names, as far as they are known.
func (r *reader) noteOnly(read []file) []file {
	for _, view := range sorted(r.policies) {
		if p := r.policies[view].path; p != "" {
			read = append(read, file{p, sum(p)})
		}
	}
	for _, p := range []string{r.servers.path, r.baseline.path} {
		if p != "" {
			read = append(read, file{p, sum(p)})
		}
	}
	return read
}

// cannot says where a file is named that cannot be used.
func (f ref) cannot(err error) error {
	return &policyfile.EntryError{Position: f.at, Path: f.key, Err: err}
}

func (r *reader) loadPolicies(read *files, before *Config) error {
	var errs []error
	byPath := map[string]engine.View{}
	for _, name := range sorted(r.policies) {
		f := r.policies[name]
		view, done := byPath[f.path]
		if !done {
			data, err := read.load(f.path)
			if err != nil {
				errs = append(errs, f.cannot(err))
				continue
			}
			view, done = before.compiled(f.path, digest(data))
			if !done {
				doc, err := policyfile.Parse(data, policyfile.Options{File: f.path})
				if err != nil {
					errs = append(errs, err)
					continue
				}
				view.Filter, view.Policy, err = doc.Compile()
				if err != nil {
					errs = append(errs, err)
					continue
				}
			}
			byPath[f.path] = view
		}
		r.c.Views[name] = view
		r.c.policies = append(r.c.policies, compiledPolicy{f.path, view})
	}
	return errors.Join(errs...)
}

// compiled returns what was compiled from a file of that content.
func (c *Config) compiled(path, sum string) (engine.View, bool) {
	if c == nil || sumOf(c.files, path) != sum {
		return engine.View{}, false
	}
	for _, p := range c.policies {
		if p.path == path {
			return p.view, true
		}
	}
	return engine.View{}, false
}

// loadServers reads the file of the servers, if they are in one, and makes paths absolute: a server runs, where nothing else
// is said, in the folder of the file that names it.
func (r *reader) loadServers(read *files) error {
	file := r.c.Path
	if r.servers.path != "" {
		file = r.servers.path
		data, err := read.load(file)
		if err != nil {
			return r.servers.cannot(err)
		}
		if r.c.Servers, err = upstream.ParseServers(file, data, r.getenv); err != nil {
			return err
		}
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return r.servers.cannot(err)
	}
	under := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	for _, id := range sorted(r.c.Servers) {
		s := r.c.Servers[id]
		if s.URL != "" {
			continue
		}
		s.Dir = under(s.Dir)
		if strings.ContainsRune(s.Command, filepath.Separator) {
			s.Command = under(s.Command)
		}
		r.c.Servers[id] = s
	}
	return nil
}

func (r *reader) loadBaseline(read *files) error {
	if r.baseline.path == "" {
		return nil
	}
	r.c.BaselinePath = r.baseline.path
	data, err := read.load(r.baseline.path)
	if errors.Is(err, fs.ErrNotExist) {
		// It may come later, but somebody has to be able to write it.
		if info, err := os.Stat(filepath.Dir(r.baseline.path)); err != nil || !info.IsDir() {
			return r.baseline.cannot(fmt.Errorf("there is no folder %s to write it to (make it, or name another file)", filepath.Dir(r.baseline.path)))
		}
		return nil
	}
	if err != nil {
		return r.baseline.cannot(err)
	}
	r.c.Baseline, err = lockfile.Decode(r.baseline.path, data)
	return err
}
