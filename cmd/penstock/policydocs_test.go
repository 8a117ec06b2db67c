package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The guide is run from top to bottom, as a reader would: its files are written, its commands are run in a shell, and
// what it shows is what they print.
//
//	```yaml policy.yaml      writes the file policy.yaml
//	```console               runs each line that begins with "$ "; what follows is its output, both streams
//
// A command that fails is followed by $ echo $?. A line that holds only "…" stands for any number of lines. Everything else in the page is not run.

const guide = "../../docs/policy.md"

// docBlock is one fenced block.
type docBlock struct {
	language, file string
	line           int // of its first line, from 1
	lines          []string
}

func docBlocks(t *testing.T, text string) (list []docBlock) {
	t.Helper()
	var open *docBlock
	for i, line := range strings.Split(text, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			language, file, _ := strings.Cut(info, " ")
			open = &docBlock{language: language, file: file, line: i + 2}
		case fence && info == "":
			list = append(list, *open)
			open = nil
		case open != nil:
			open.lines = append(open.lines, line)
		}
	}
	if open != nil {
		t.Fatalf("the block of line %d is never closed", open.line)
	}
	return list
}

// shell runs commands one after the other in a folder. $? is that of the command before.
type shell struct {
	dir  string
	code int
}

func (s *shell) run(t *testing.T, command string) []string {
	t.Helper()
	cmd := exec.Command("sh", "-c", fmt.Sprintf("exec 2>&1; (exit %d)\n%s", s.code, command))
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "LC_ALL=C")
	out, err := cmd.Output()
	var exit *exec.ExitError
	s.code = 0
	switch {
	case errors.As(err, &exit):
		s.code = exit.ExitCode()
	case err != nil:
		t.Fatalf("%s: %v", command, err)
	}
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

const anything = "…"

// shows reports whether the document's lines are what was printed.
func shows(doc, printed []string) bool {
	i := slices.Index(doc, anything)
	if i < 0 {
		return slices.Equal(doc, printed)
	}
	if len(printed) < i || !slices.Equal(doc[:i], printed[:i]) {
		return false
	}
	rest := doc[i+1:]
	for from := i; from <= len(printed); from++ {
		if shows(rest, printed[from:]) {
			return true
		}
	}
	return false
}

func TestGuideShowsWhatTheCommandsPrint(t *testing.T) {
	data, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sh := shell{dir: t.TempDir()}
	if err := os.Symlink(filepath.Join(repository, "testdata"), filepath.Join(sh.dir, "testdata")); err != nil {
		t.Fatal(err)
	}
	text := string(data)
	commands, used := 0, map[string]int{}
	for _, b := range docBlocks(t, text) {
		switch {
		case b.language == "console":
			n, fresh := runConsole(t, &sh, b, used)
			commands += n
			if *update {
				text = strings.Replace(text, "```console\n"+strings.Join(b.lines, "\n")+"\n```", "```console\n"+strings.Join(fresh, "\n")+"\n```", 1)
			}
		case b.file != "":
			if err := os.WriteFile(filepath.Join(sh.dir, b.file), []byte(strings.Join(b.lines, "\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if *update {
		if err := os.WriteFile(guide, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if commands < 25 {
		t.Errorf("%d commands: the guide has more", commands)
	}
	for _, name := range []string{"check", "explain", "lint", "test", "diff", "baseline", "eval", "schema"} {
		if used[name] == 0 {
			t.Errorf("the guide does not use penstock %s", name)
		}
	}
}

// runConsole runs the commands of a block and compares what they print. It returns how many there were, and the block as it
// should be.
func runConsole(t *testing.T, sh *shell, b docBlock, used map[string]int) (commands int, fresh []string) {
	t.Helper()
	for i := 0; i < len(b.lines); {
		command, ok := strings.CutPrefix(b.lines[i], "$ ")
		if !ok {
			t.Errorf("%s:%d: a console block begins with \"$ \"", guide, b.line+i)
			return commands, b.lines
		}
		line := b.line + i
		fresh = append(fresh, b.lines[i])
		for i++; strings.HasSuffix(command, "\\") && i < len(b.lines); i++ {
			command += "\n" + b.lines[i]
			fresh = append(fresh, b.lines[i])
		}
		var doc []string
		for ; i < len(b.lines) && !strings.HasPrefix(b.lines[i], "$ "); i++ {
			doc = append(doc, b.lines[i])
		}
		printed := sh.run(t, command)
		commands++
		if sh.code != 0 && (i == len(b.lines) || b.lines[i] != "$ echo $?") {
			t.Errorf("%s:%d: $ %s\nexit code %d, and the guide does not say so\n%s", guide, line, command, sh.code, strings.Join(printed, "\n"))
		}
		words := strings.Fields(command)
		for j, w := range words[:len(words)-1] {
			if w == "penstock" {
				used[words[j+1]]++
			}
		}
		if shows(doc, printed) {
			fresh = append(fresh, doc...)
			continue
		}
		fresh = append(fresh, printed...)
		if !*update {
			t.Errorf("%s:%d: $ %s\nthe guide shows\n%s\nand it prints\n%s", guide, line, command, strings.Join(doc, "\n"), strings.Join(printed, "\n"))
		}
	}
	return commands, fresh
}

func TestGuideNoticesWhatItShowsWrongly(t *testing.T) {
	for _, c := range []struct {
		doc, printed string
		want         bool
	}{
		{"a", "a", true}, {"a", "b", false}, {"a", "a\nb", false}, {"…", "a\nb", true}, {"a\n…\nd", "a\nb\nc\nd", true},
		{"a\n…\nd", "a\nd", true}, {"a\n…\nd", "a\nb", false}, {"…\nb\n…\nd", "a\nb\nc\nd", true}, {"…\nb\n…\nd", "a\nc\nd", false},
	} {
		if got := shows(strings.Split(c.doc, "\n"), strings.Split(c.printed, "\n")); got != c.want {
			t.Errorf("%q against %q: %t", c.doc, c.printed, got)
		}
	}
	sh := shell{dir: t.TempDir()}
	if got := sh.run(t, "echo a; echo b >&2; exit 3"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
	if got := sh.run(t, "echo $?"); !slices.Equal(got, []string{"3"}) {
		t.Errorf("%q", got)
	}
}
