// The baseline file: what was approved for good.

package approval

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/lockfile"
)

// The reasons for which a tool is not remembered.
var (
	ErrNotTool    = errors.New("only tools can be approved for good")
	ErrSuperseded = errors.New("the baseline file has another approval of the tool by now than the one it was judged by")
	ErrGone       = errors.New("the baseline file is gone, and a new one would forget what it approved")
)

// Store writes approvals into a baseline file, as penstock baseline does. Make one with [NewStore]; a nil *Store and the
// zero Store remember nothing. It is safe for concurrent use, in several processes, too.
type Store struct {
	path    string
	changed func(*lockfile.File)
	mu      sync.Mutex // held from reading the file until changed has returned, so that the calls are in order
}

// NewStore returns a store for the file at path. Where changed is not nil it is called with every file that was written,
// before Remember returns and one call at a time, to put the new baseline into force: the call that was approved is
// judged by it. It must not call Remember.
func NewStore(path string, changed func(*lockfile.File)) *Store {
	return &Store{path: path, changed: changed}
}

// Remember approves the tool of r as it was judged, whatever its server says by now, and keeps all else that is in the
// file.
//
// It makes the file, readable by its owner alone, where there is none and no tool was approved when the call was judged:
// the first approval pins. It writes nothing, and returns an error, for a tool without a fingerprint, where the file
// approves the tool in a way that is neither this one nor the one it was judged by ([ErrSuperseded]), where the file is
// gone ([ErrGone]), and where it cannot be read or written: see lockfile.File.Save. A file that has the very approval
// already is left as it is, and changed is called all the same.
func (s *Store) Remember(ctx context.Context, r *hub.ApprovalRequest) error {
	if s == nil || s.path == "" {
		return errors.New("there is no baseline file")
	}
	if r == nil || r.Kind != engine.Tools || r.Tool == nil {
		return ErrNotTool
	}
	if r.Fingerprint == "" {
		return &lockfile.ToolError{Target: r.Target, Err: lockfile.ErrNoFingerprint}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	tool := *r.Tool
	tool.Fingerprint = r.Fingerprint
	var written *lockfile.File
	err := s.update(r, func(f *lockfile.File) error {
		is, known := f.Lookup(r.Target)
		was, judged := r.Baseline.Lookup(r.Target)
		if known != judged || is.Fingerprint != was {
			if !known || is.Fingerprint != r.Fingerprint {
				return ErrSuperseded
			}
		}
		written = f
		if known && is.Fingerprint == r.Fingerprint {
			return nil
		}
		return f.Approve(tool)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	if s.changed != nil {
		s.changed(written)
	}
	return nil
}

// update is lockfile.Update, and makes the file if it may.
func (s *Store) update(r *hub.ApprovalRequest, change func(*lockfile.File) error) error {
	err := lockfile.Update(s.path, change)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if r.Baseline.Len() > 0 {
		return ErrGone
	}
	if err := create(s.path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return lockfile.Update(s.path, change)
}

// create puts an empty baseline at path, unless there is something. It means the same as no file, so that nobody reads
// half of an approval; what is approved goes into it as into any other file.
func create(path string) (err error) {
	text, err := new(lockfile.File).Encode()
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp") // its owner's alone
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(text)
	if err == nil {
		err = tmp.Sync()
	}
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Link(tmp.Name(), path) // which fails where the name is taken
}
