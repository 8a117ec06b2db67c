package lockfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
)

func approving(t *testing.T, names ...string) *File {
	t.Helper()
	f := new(File)
	for _, name := range names {
		if err := f.Approve(engine.Tool{Server: "fs", Name: name, Raw: []byte(`{"name": "` + name + `"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func names(t *testing.T, path string) string {
	t.Helper()
	f, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range f.Entries() {
		all = append(all, e.Name)
	}
	return strings.Join(all, " ")
}

// folder lists what is in a folder.
func folder(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func mustLoad(t *testing.T, path string) *File {
	t.Helper()
	f, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSaveMakesNewFilesAndReplacesItsOwn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "b.json")
	f := approving(t, "a")
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	if err := approving(t, "z").Save(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("another file overwrites it: %v", err)
	}
	f.Remove(engine.Target{Server: "fs", Name: "a"})
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	if got := names(t, path); got != "" {
		t.Errorf("it holds %q", got)
	}
	if err := approving(t, "z").Replace(path); err != nil || names(t, path) != "z" {
		t.Errorf("Replace: %v", err)
	}
	if err := f.Save(path); !errors.Is(err, ErrChanged) || names(t, path) != "z" {
		t.Errorf("after that: %v", err)
	}
	other := filepath.Join(dir, "c.json")
	if err := approving(t, "y").Replace(other); err != nil || names(t, other) != "y" {
		t.Errorf("Replace of nothing: %v", err)
	}
	if got := folder(t, dir); got != "b.json c.json" {
		t.Errorf("left in the folder: %s", got)
	}
}

func TestSaveRefusesToUndoWhatOthersWrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.json")
	if err := approving(t, "a").Save(path); err != nil {
		t.Fatal(err)
	}
	mine, theirs := mustLoad(t, path), mustLoad(t, path)
	theirs.Remove(engine.Target{Server: "fs", Name: "a"})
	if err := theirs.Save(path); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(){func() {}, func() {
		if err := mine.Approve(engine.Tool{Server: "fs", Name: "b", Raw: []byte(`{"name": "b"}`)}); err != nil {
			t.Fatal(err)
		}
	}} {
		change()
		if err := mine.Save(path); !errors.Is(err, ErrChanged) {
			t.Errorf("%v", err)
		}
		if got := names(t, path); got != "" {
			t.Errorf("it holds %q", got)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := mine.Save(path); !errors.Is(err, ErrChanged) {
		t.Errorf("the file is gone: %v", err)
	}
}

func TestUpdateLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.json")
	if err := new(File).Save(path); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	const writers, each = 4, 5
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				name := string(rune('a'+w)) + string(rune('0'+i))
				err := Update(path, func(f *File) error {
					return f.Approve(engine.Tool{Server: "fs", Name: name, Raw: []byte(`{"name": "` + name + `"}`)})
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := mustLoad(t, path).Len(); n != writers*each {
		t.Errorf("%d tools, want %d", n, writers*each)
	}
	if got := folder(t, filepath.Dir(path)); got != "b.json" {
		t.Errorf("left in the folder: %s", got)
	}
	wrong := errors.New("no")
	if err := Update(path, func(f *File) error { f.Remove(f.Entries()[0].Target()); return wrong }); err != wrong {
		t.Error(err)
	}
	if n := mustLoad(t, path).Len(); n != writers*each {
		t.Error("a change that failed was written")
	}
	if err := Update(path+".none", func(*File) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file is no empty baseline: %v", err)
	}
}

func TestUnchangedFilesAreNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.json")
	if err := approving(t, "a").Save(path); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := mustLoad(t, path).Save(path); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("another file: %v", err)
	}
}

// A fault at any step leaves the old file as it was and nothing beside it.
func TestFaultsLeaveTheOldFile(t *testing.T) {
	fault := errors.New("planted")
	for name, plant := range map[string]func(*system){
		"open": func(s *system) {
			s.open = func(string, int, fs.FileMode) (*os.File, error) { return nil, fault }
		},
		"write": func(s *system) {
			s.write = func(f *os.File, data []byte) (int, error) {
				n, _ := f.Write(data[:len(data)/2])
				return n, fault
			}
		},
		"sync":   func(s *system) { s.sync = func(*os.File) error { return fault } },
		"lock":   func(s *system) { s.lock = func(string) (func(), error) { return nil, fault } },
		"rename": func(s *system) { s.rename = func(string, string) error { return fault } },
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "b.json")
		if err := approving(t, "a").Save(path); err != nil {
			t.Fatal(err)
		}
		f := mustLoad(t, path)
		f.Remove(engine.Target{Server: "fs", Name: "a"})
		broken := realSystem
		plant(&broken)
		for range 2 {
			if err := f.save(broken, path, false); !errors.Is(err, fault) {
				t.Errorf("%s: %v", name, err)
			}
			if err := f.save(broken, path, true); !errors.Is(err, fault) {
				t.Errorf("%s: replace: %v", name, err)
			}
		}
		if got := names(t, path); got != "a" {
			t.Errorf("%s: it holds %q", name, got)
		}
		if got := folder(t, dir); got != "b.json" {
			t.Errorf("%s: left in the folder: %s", name, got)
		}
		// The next attempt works.
		if err := f.Save(path); err != nil || names(t, path) != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFaultsLeaveNoNewFile(t *testing.T) {
	fault := errors.New("planted")
	dir := t.TempDir()
	path := filepath.Join(dir, "b.json")
	broken := realSystem
	broken.link = func(string, string) error { return fault }
	broken.rename = func(string, string) error { return fault }
	if err := approving(t, "a").save(broken, path, false); !errors.Is(err, fault) {
		t.Error(err)
	}
	if got := folder(t, dir); got != "" {
		t.Errorf("left in the folder: %s", got)
	}
	// Without links a rename has to do, and still overwrites nothing.
	broken.rename = os.Rename
	if err := approving(t, "a").save(broken, path, false); err != nil || names(t, path) != "a" {
		t.Error(err)
	}
	if err := approving(t, "b").save(broken, path, false); !errors.Is(err, fs.ErrExist) || names(t, path) != "a" {
		t.Error(err)
	}
	if err := approving(t, "a").Save(filepath.Join(path, "c.json")); err == nil {
		t.Error("a file serves as a folder")
	}
	if err := approving(t, "a").Save(dir); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("%v", err)
	}
}

func TestFolderThatIsNotSyncedIsSaid(t *testing.T) {
	fault := errors.New("planted")
	path := filepath.Join(t.TempDir(), "b.json")
	broken := realSystem
	broken.syncDir = func(string) error { return fault }
	if err := approving(t, "a").save(broken, path, false); !errors.Is(err, fault) || !strings.Contains(err.Error(), "is written") {
		t.Error(err)
	}
	if got := names(t, path); got != "a" {
		t.Errorf("it holds %q", got)
	}
}

func TestWhatACrashLeavesBehindIsNotRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "b.json")
	if err := approving(t, "a").Save(path); err != nil {
		t.Fatal(err)
	}
	// The crash comes in the middle of writing, and nobody cleans up.
	crash := realSystem
	left := ""
	crash.write = func(f *os.File, data []byte) (int, error) {
		if _, err := f.Write(data[:len(data)/2]); err != nil {
			t.Fatal(err)
		}
		left = f.Name() + ".left"
		if err := os.Link(f.Name(), left); err != nil {
			t.Fatal(err)
		}
		return 0, errors.New("crash")
	}
	f := mustLoad(t, path)
	f.Remove(engine.Target{Server: "fs", Name: "a"})
	if err := f.save(crash, path, false); err == nil {
		t.Fatal("no crash")
	}
	if err := os.Rename(left, strings.TrimSuffix(left, ".left")); err != nil {
		t.Fatal(err)
	}
	if got := names(t, path); got != "a" {
		t.Errorf("it holds %q", got)
	}
	if err := f.Save(path); err != nil || names(t, path) != "" {
		t.Errorf("the next writer: %v", err)
	}
	if _, err := Load(strings.TrimSuffix(left, ".left")); err == nil {
		t.Error("half a file loads")
	}
}

func TestSaveKeepsModeAndLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links are those of Unix")
	}
	dir := t.TempDir()
	path, link, far := filepath.Join(dir, "b.json"), filepath.Join(dir, "link"), filepath.Join(dir, "far")
	if err := approving(t, "a").Save(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink("b.json", link), os.Symlink(link, far)); err != nil {
		t.Fatal(err)
	}
	f := mustLoad(t, far)
	f.Remove(engine.Target{Server: "fs", Name: "a"})
	if err := f.Save(link); err != nil { // two names of one file
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o640 || names(t, path) != "" {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, l := range []string{link, far} {
		if info, err := os.Lstat(l); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("the link %s is gone", l)
		}
	}
	// A link to nothing yet.
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink("new.json", dangling); err != nil {
		t.Fatal(err)
	}
	if err := approving(t, "n").Save(dangling); err != nil || names(t, filepath.Join(dir, "new.json")) != "n" {
		t.Errorf("%v", err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := approving(t, "n").Save(loop); err == nil || !strings.Contains(err.Error(), "too many symbolic links") {
		t.Errorf("%v", err)
	}
}
