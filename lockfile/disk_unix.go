//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// patience is how long a writer waits for another one. Writing takes milliseconds, so whoever holds the lock for longer
// is stuck.
var patience = 5 * time.Second

// lock takes the advisory lock of the file at path. It ends with the process, whatever becomes of that, and leaves
// nothing behind.
//
// The lock is on the file and not on the name, and writers put a new file under the name. So whoever gets the lock looks
// whether the name still means the file it has locked, and else begins anew.
func lock(path string) (unlock func(), err error) {
	until := time.Now().Add(patience)
	for {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		err = flock(f)
		switch {
		case err == nil:
			if current(f, path) {
				return func() { f.Close() }, nil
			}
			f.Close()
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			if time.Now().After(until) {
				return nil, fmt.Errorf("%s: %w", path, ErrLocked)
			}
			time.Sleep(2 * time.Millisecond)
		default: // a file system without locks: the comparison has to do
			f.Close()
			return func() {}, nil
		}
	}
}

// flock takes the lock of an open file or fails at once. Tests replace the file meanwhile.
var flock = func(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// current reports whether path still means f.
func current(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// keepOwner gives f the owner and the group of old, as far as the process may.
func keepOwner(f *os.File, old fs.FileInfo) {
	stat, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if err := f.Chown(int(stat.Uid), int(stat.Gid)); err != nil {
		_ = f.Chown(-1, int(stat.Gid))
	}
}

// syncDir makes a rename in dir last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil // a file system that does not sync folders
	}
	return err
}
