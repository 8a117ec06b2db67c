package lockfile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// origin is the state of the disk that a File stands for.
type origin struct {
	path string // of the file itself, symbolic links resolved
	sum  [sha256.Size]byte
}

// Load reads the file at path, as [Decode] does. Errors of the file system come as they are: a file that is not there
// is an error, too.
func Load(path string) (*File, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	f, err := Decode(path, data)
	if err != nil {
		return nil, err
	}
	if real, err := resolve(path); err == nil {
		f.origin = &origin{path: real, sum: sha256.Sum256(data)}
	}
	return f, nil
}

func readFile(path string) ([]byte, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, MaxSize+1))
}

// Save writes the file to path. Whatever happens, a reader finds the old file or the new one, whole; after a crash,
// too.
//
// A File that was loaded from path, or saved there before, replaces what is there only as long as it is still the same:
// Save returns an error that wraps [ErrChanged] where somebody else has written it, so that no approval and no
// withdrawal is lost. Any other File only makes a new file: where path exists, the error wraps [fs.ErrExist]. Where the
// text is what is on disk already, nothing is written.
//
// The new file has the mode of the old one, and its owner where the process may give it; one that is new has 0644, less
// the umask. A symbolic link stays, and what it points to is written.
//
// How: the text goes to a temporary file in the same folder, .NAME.*.tmp, which is synced, and renamed over the old file;
// then the folder is synced. A crash may leave the temporary file behind; nothing reads it. Writers that use this
// package exclude each other by an advisory lock on the old file, where the system has one (Unix), and ErrLocked says
// that it could not be had in five seconds. Against all other writers the text is compared just before it is
// replaced.
//
// An error of the last sync, of the folder, says so: the new file is there, but might not survive a loss of power.
func (f *File) Save(path string) error { return f.save(realSystem, path, false) }

// Replace is Save for whatever is at path, or is not: nothing is compared.
func (f *File) Replace(path string) error { return f.save(realSystem, path, true) }

// attempts bounds how often Update begins anew. Each time another writer was faster, which has then written.
const attempts = 100

// Update loads the file at path, calls change, and saves what change made of it. Where another process has written the
// file meanwhile it begins anew, and calls change again. It returns the error of change, and then writes nothing.
func Update(path string, change func(*File) error) error {
	var err error
	for range attempts {
		var f *File
		if f, err = Load(path); err != nil {
			return err
		}
		if err := change(f); err != nil {
			return err
		}
		if err = f.Save(path); !errors.Is(err, ErrChanged) {
			return err
		}
		time.Sleep(rand.N(2 * time.Millisecond))
	}
	return err
}

func (f *File) save(sys system, path string, replace bool) error {
	text, err := f.Encode()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	real, err := resolve(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	from := f.origin
	switch {
	case replace:
		if _, err = os.Lstat(real); errors.Is(err, fs.ErrNotExist) {
			err = sys.create(real, text)
		} else if err == nil {
			err = sys.replace(real, text, nil)
		}
	case from == nil || from.path != real:
		err = sys.create(real, text)
	case from.sum == sum:
		err = unchanged(real, sum)
	default:
		err = sys.replace(real, text, &from.sum)
	}
	if err != nil {
		return err
	}
	f.origin = &origin{path: real, sum: sum}
	return nil
}

// unchanged returns an error that wraps ErrChanged where the file at path is not the one with the given sum.
func unchanged(path string, sum [sha256.Size]byte) error {
	data, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w: it is gone", path, ErrChanged)
	case err != nil:
		return err
	case sha256.Sum256(data) != sum:
		return fmt.Errorf("%s: %w", path, ErrChanged)
	}
	return nil
}

// maxLinks is how many symbolic links in a row are followed: what Linux does, too.
const maxLinks = 40

// resolve returns the path of the file that path stands for: where path is a symbolic link, what it points to, whether
// or not that exists. It is absolute, so that it means the same after a change of the working directory.
func resolve(path string) (string, error) {
	real, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range maxLinks {
		info, err := os.Lstat(real)
		if errors.Is(err, fs.ErrNotExist) {
			return real, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if !info.Mode().IsRegular() {
				return "", fmt.Errorf("%s: it is not a file", path)
			}
			return real, nil
		}
		to, err := os.Readlink(real)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(real), to)
		}
		real = to
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}
