// The file of the audit log, which others may move away.

package gateway

import (
	"os"
	"sync"
)

// auditFile appends to a file. Its methods are safe for concurrent use.
type auditFile struct {
	path string

	mu sync.Mutex
	f  *os.File
}

func openAudit(path string) (*auditFile, error) {
	f, err := openAppend(path)
	if err != nil {
		return nil, err
	}
	return &auditFile{path: path, f: f}, nil
}

func openAppend(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// Write appends one record: the handler writes each in one piece.
func (a *auditFile) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Write(p)
}

// Reopen goes on in the file that has the path now, a new one if there is none. With an error it goes on in the old one.
func (a *auditFile) Reopen() error {
	f, err := openAppend(a.path)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.f
	a.f = f
	return old.Close()
}

// Close closes the file.
func (a *auditFile) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Close()
}
