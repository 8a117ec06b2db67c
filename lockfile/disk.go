package lockfile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// system is what writing asks of the system. Tests put faults in.
type system struct {
	open    func(name string, flag int, perm fs.FileMode) (*os.File, error) // of the temporary file
	write   func(f *os.File, data []byte) (int, error)
	sync    func(f *os.File) error // of the temporary file
	rename  func(from, to string) error
	link    func(from, to string) error
	syncDir func(dir string) error
	lock    func(path string) (unlock func(), err error)
}

var realSystem = system{
	open: os.OpenFile, write: (*os.File).Write, sync: (*os.File).Sync, rename: os.Rename, link: os.Link,
	syncDir: syncDir, lock: lock,
}

// newFileMode is the mode of a file that was not there before, less the umask.
const newFileMode = 0o644

// create writes text to a new file at path. It fails with fs.ErrExist where there is one.
func (s system) create(path string, text []byte) error {
	tmp, err := s.temporary(path, text, nil)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	// A link fails where the name is taken; a rename would not.
	err = s.link(tmp, path)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrExist):
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	default: // a file system without links
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
		}
		if err := s.rename(tmp, path); err != nil {
			return err
		}
	}
	return s.finish(path)
}

// replace writes text over the file at path, which exists. Unless expect is nil, what is there must have that sum.
func (s system) replace(path string, text []byte, expect *[sha256.Size]byte) error {
	unlock, err := s.lock(path)
	switch {
	case expect != nil && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w: it is gone", path, ErrChanged)
	case err != nil:
		return err
	}
	defer unlock()
	old, err := os.Stat(path)
	if err != nil {
		return err
	}
	tmp, err := s.temporary(path, text, old)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	if expect != nil {
		if err := unchanged(path, *expect); err != nil {
			return err
		}
	}
	if err := s.rename(tmp, path); err != nil {
		return err
	}
	return s.finish(path)
}

// finish makes a rename last.
func (s system) finish(path string) error {
	if err := s.syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%s is written, but a loss of power might undo that: %w", path, err)
	}
	return nil
}

// temporary writes text to a temporary file beside path and returns its name. It has the mode and the owner of old,
// unless that is nil. On an error it leaves nothing behind.
func (s system) temporary(path string, text []byte, old fs.FileInfo) (name string, err error) {
	f, err := s.openTemporary(path)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if old != nil {
		keepOwner(f, old)
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return "", err
		}
	}
	if _, err := s.write(f, text); err != nil {
		return "", err
	}
	if err := s.sync(f); err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return f.Name(), nil
}

// maxBase is how much of a file's name the temporary one has: file systems take 255 bytes.
const maxBase = 200

// openTemporary makes a file that nobody else has. It is not os.CreateTemp because that leaves the umask out.
func (s system) openTemporary(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	base = base[:min(len(base), maxBase)]
	for try := 0; ; try++ {
		name := filepath.Join(dir, "."+base+"."+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
		f, err := s.open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, newFileMode)
		if err == nil || !errors.Is(err, fs.ErrExist) || try == 100 {
			return f, err
		}
	}
}
