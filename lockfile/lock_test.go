//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lockfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/penstock-mcp/penstock/engine"
)

func TestLockKeepsOtherWritersOut(t *testing.T) {
	defer func(d time.Duration) { patience = d }(patience)
	patience = 20 * time.Millisecond
	path := filepath.Join(t.TempDir(), "b.json")
	if err := approving(t, "a").Save(path); err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	f := mustLoad(t, path) // readers do not care
	f.Remove(engine.Target{Server: "fs", Name: "a"})
	if err := f.Save(path); !errors.Is(err, ErrLocked) {
		t.Errorf("%v", err)
	}
	unlock()
	if err := f.Save(path); err != nil {
		t.Error(err)
	}
}

// Whoever waited for the lock of a file that was replaced meanwhile gets the lock of the new one.
func TestLockIsOnWhatTheNameMeans(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.json")
	if err := approving(t, "a").Save(path); err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan func())
	go func() {
		unlock, err := lock(path)
		if err != nil {
			t.Error(err)
		}
		second <- unlock
	}()
	time.Sleep(5 * time.Millisecond)
	other := realSystem
	other.lock = func(string) (func(), error) { return func() {}, nil } // whoever has the lock may write
	f := mustLoad(t, path)
	f.Remove(engine.Target{Server: "fs", Name: "a"})
	if err := f.save(other, path, false); err != nil {
		t.Fatal(err)
	}
	unlock()
	defer (<-second)()
	defer func(d time.Duration) { patience = d }(patience)
	patience = 10 * time.Millisecond
	if _, err := lock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("two hold the lock: %v", err)
	}
}

// The file may be replaced between its opening and its locking. A lock on what is no longer there keeps nobody out.
func TestLockOfAFileThatWasReplacedDoesNotCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.json")
	if err := approving(t, "a").Save(path); err != nil {
		t.Fatal(err)
	}
	system := flock
	defer func() { flock = system }()
	calls := 0
	flock = func(f *os.File) error {
		if calls++; calls <= 3 {
			if err := os.WriteFile(path+".new", []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}
		return system(f)
	}
	unlock, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if calls != 4 {
		t.Errorf("%d files were locked, want the fourth", calls)
	}
	defer func(d time.Duration) { patience = d }(patience)
	patience = 10 * time.Millisecond
	if _, err := lock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("two hold the lock: %v", err)
	}
}
