// The files a configuration is made of.
//
// They are watched by what is in them: a file's time says little after a restore or a copy, and notifications of the
// system miss what is mounted or replaced. So everything that is read is remembered with its digest, also what could not
// be read, and a reload begins where a digest is another one.

package gateway

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/penstock-mcp/penstock/lockfile"
)

// file is one file as it was read.
type file struct {
	path string
	sum  string // of its content, or what kept it from being read
}

// digest stands for a content.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + string(sum[:])
}

// readFile reads a regular file of a bounded size: a pipe or a device would be waited for, or has no end.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, lockfile.MaxSize+1))
	if err == nil && len(data) > lockfile.MaxSize {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is larger than %d MiB", lockfile.MaxSize>>20)}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// sum says what is in a file now.
func sum(path string) string {
	data, err := readFile(path)
	if err != nil {
		return "error: " + err.Error()
	}
	return digest(data)
}

// files collects what is read.
type files struct{ read []file }

// load reads a file and remembers it.
func (f *files) load(path string) ([]byte, error) {
	data, err := readFile(path)
	s := "error: "
	if err != nil {
		s += err.Error()
	} else {
		s = digest(data)
	}
	f.read = append(f.read, file{path, s})
	return data, err
}

// stale reports whether any of the files is another one now.
func stale(read []file) bool {
	for _, f := range read {
		if sum(f.path) != f.sum {
			return true
		}
	}
	return false
}

// sumOf returns the digest that a file was read with.
func sumOf(read []file, path string) string {
	for _, f := range read {
		if f.path == path {
			return f.sum
		}
	}
	return ""
}
