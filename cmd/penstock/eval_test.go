package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rulesOf compiles a policy document.
func rulesOf(t testing.TB, document string) rules {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(document), 0o644); err != nil {
		t.Fatal(err)
	}
	rs, err := loadRules(file)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

const allowAll = "version: 1\npolicy: {allow: [\"*\"], allow_new_tools: true}\n"

func request(name string) string {
	return fmt.Sprintf(`{"tool": {"server": "fs", "name": %q}}`, name)
}

func TestEvalAnswersBeforeItWaits(t *testing.T) {
	rs := rulesOf(t, allowAll)
	in, ask := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error)
	go func() {
		err := runEval(rs, in, out)
		out.Close()
		done <- err
	}()
	r := bufio.NewReader(answers)
	for i := range 3 {
		// A whole line and the beginning of the next one: the answer to the first must not wait for the second.
		text := request(fmt.Sprint("tool", i)) + "\n{"
		if i > 0 {
			text = text[1:]
		}
		if _, err := io.WriteString(ask, text); err != nil {
			t.Fatal(err)
		}
		line := make(chan string)
		go func() { s, _ := r.ReadString('\n'); line <- s }()
		select {
		case s := <-line:
			if !strings.Contains(s, `"action": "allow"`) {
				t.Fatalf("answer %q", s)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("no answer")
		}
	}
	if _, err := io.WriteString(ask, request("last")[1:]); err != nil {
		t.Fatal(err)
	}
	ask.Close()
	if s, err := r.ReadString('\n'); err != nil || !strings.Contains(s, "allow") {
		t.Errorf("the line without an end: %q, %v", s, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// manyLines is a reader of n lines that are not kept anywhere.
type manyLines struct {
	line string
	n    int
	rest string
}

func (m *manyLines) Read(p []byte) (int, error) {
	if m.rest == "" {
		if m.n == 0 {
			return 0, io.EOF
		}
		m.n--
		m.rest = m.line
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// lineCounter counts what it is given.
type lineCounter struct{ lines int }

func (c *lineCounter) Write(p []byte) (int, error) {
	c.lines += bytes.Count(p, []byte("\n"))
	return len(p), nil
}

func TestEvalTakesTheSameMemoryForManyRequests(t *testing.T) {
	rs := rulesOf(t, allowAll)
	const n = 200_000
	var before, after runtime.MemStats
	out := new(lineCounter)
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := runEval(rs, &manyLines{line: request("read") + "\n", n: n}, out); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if out.lines != n {
		t.Errorf("%d answers to %d requests", out.lines, n)
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 32<<20 {
		t.Errorf("the heap has grown by %d MB over %d requests", grown>>20, n)
	}
}

func TestEvalGoesOnAfterALineThatIsTooLong(t *testing.T) {
	rs := rulesOf(t, allowAll)
	in := io.MultiReader(
		strings.NewReader(request("first")+"\n"),
		io.LimitReader(&manyLines{line: strings.Repeat("x", 1<<20), n: 65}, 65<<20),
		strings.NewReader("\n"+request("last")+"\n"),
	)
	var out bytes.Buffer
	err := runEval(rs, in, &out)
	var failed *failure
	if !errors.As(err, &failed) || failed.code != exitFindings {
		t.Errorf("error %v, want exit code %d", err, exitFindings)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || lines[1] != `{"line": 2, "error": "the line has more than 64 MiB"}` ||
		!strings.Contains(lines[0], "allow") || !strings.Contains(lines[2], "allow") {
		t.Errorf("answers %q", lines)
	}
}

func TestEvalRefusesBytesThatAreNotUTF8(t *testing.T) {
	rs := rulesOf(t, allowAll)
	var out bytes.Buffer
	err := runEval(rs, strings.NewReader("{\"tool\": {\"server\": \"fs\", \"name\": \"a\xff\"}}\n"), &out)
	if err == nil || !strings.HasPrefix(out.String(), `{"line": 1, "error": `) {
		t.Errorf("answer %q, error %v", out.String(), err)
	}
}

// brokenReader fails after its text.
type brokenReader struct{ io.Reader }

func (b brokenReader) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = errors.New("broken")
	}
	return n, err
}

func TestEvalReportsInputThatCannotBeRead(t *testing.T) {
	rs := rulesOf(t, allowAll)
	var out bytes.Buffer
	err := runEval(rs, brokenReader{strings.NewReader(request("first") + "\n")}, &out)
	if err == nil || !strings.Contains(err.Error(), "reading standard input: broken") {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(out.String(), "allow") {
		t.Errorf("the first answer is lost: %q", out.String())
	}
}

// fullWriter takes nothing.
type fullWriter struct{ err error }

func (f fullWriter) Write([]byte) (int, error) { return 0, f.err }

func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	rs := rulesOf(t, allowAll)
	in := func() io.Reader { return &manyLines{line: request("read") + "\n", n: 10_000} }
	var failed *failure
	if err := runEval(rs, in(), fullWriter{syscall.ENOSPC}); !errors.As(err, &failed) || failed.code != exitFindings {
		t.Errorf("a full disk: %v", err)
	}
	// Whoever read the answers has had enough.
	if err := runEval(rs, in(), fullWriter{syscall.EPIPE}); err != nil {
		t.Errorf("a closed pipe: %v", err)
	}
}

func BenchmarkEval(b *testing.B) {
	rs := rulesOf(b, allowAll)
	b.ReportAllocs()
	out := new(lineCounter)
	if err := runEval(rs, &manyLines{line: request("read") + "\n", n: b.N}, out); err != nil || out.lines != b.N {
		b.Fatal(err)
	}
}
