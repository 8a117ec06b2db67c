// Command perfdoc runs the benchmarks, keeps what they print under docs/perf, holds the medians against the limits of the
// design, and writes docs/perf.md.
//
//	go run ./bench/perfdoc                 run everything (about an hour) and write the page
//	go run ./bench/perfdoc -only bench     run one part and write the page from the rest as it was kept
//	go run ./bench/perfdoc -only none      write the page from what was kept
//	go run ./bench/perfdoc -check          exit 1 when a limit is missed, too
//	go run ./bench/perfdoc -quick -docs D  run each benchmark once: whether all this works, not how fast it is
//
// It is run from the root of the module, on a machine that does nothing else.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A part is one command whose output is kept in one file.
type part struct {
	name string
	dir  string
	args []string // of go
	env  []string
}

func parts(count int, benchtime string, quick bool) []part {
	n := fmt.Sprint(count)
	all := []part{
		{name: "bench", args: []string{"test", "./bench", "-run", "^$", "-bench", "^Benchmark(Decide|Match|Visible|Compile|Refresh)$",
			"-cpu", "1", "-count", n, "-timeout", "180m", "-benchtime", benchtime}},
		{name: "swap", args: []string{"test", "./bench", "-run", "^$", "-bench", "^BenchmarkSwap$", "-cpu", "1,2",
			"-benchtime", "2s", "-count", n, "-timeout", "60m"}},
		{name: "scale", args: []string{"test", "./bench", "-run", "^$", "-bench", "^BenchmarkScale$", "-cpu", "1",
			"-benchtime", "1x", "-count", "3", "-timeout", "120m", "-big"}},
		{name: "guard", dir: "hub", env: []string{"GOWORK=off"}, args: []string{"test", ".", "-run", "^$", "-bench", "^BenchmarkGuard$",
			"-cpu", "1,2", "-count", n, "-timeout", "60m", "-benchtime", benchtime}},
		{name: "peers", dir: "bench/peers", env: []string{"GOWORK=off"}, args: []string{"test", "-run", "^$", "-bench", ".",
			"-cpu", "1", "-timeout", "60m", "-benchtime", benchtime}},
	}
	if quick {
		for i := range all {
			all[i].args = slices.DeleteFunc(all[i].args, func(arg string) bool { return arg == "-big" })
			all[i].args = append(all[i].args, "-benchtime", "1x") // the last one counts
		}
	}
	return all
}

func main() {
	count := flag.Int("count", 5, "how often each benchmark is run; the medians count")
	benchtime := flag.String("benchtime", "1s", "how long each run of a benchmark takes; those of swap and scale have a time of their own")
	only := flag.String("only", "", "comma-separated `parts` to run: bench, swap, scale, guard, peers; none runs nothing")
	skipPeers := flag.Bool("skip-peers", false, "leave out the other engines")
	check := flag.Bool("check", false, "exit 1 when a limit is missed")
	quick := flag.Bool("quick", false, "run each benchmark once, and not the largest sizes")
	docs := flag.String("docs", "docs", "the `folder` that gets perf.md and perf/")
	flag.Parse()
	missed, err := run(parts(*count, *benchtime, *quick), *only, *skipPeers, *docs)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "perfdoc:", err)
		os.Exit(2)
	case len(missed) > 0:
		for _, v := range missed {
			fmt.Fprintln(os.Stderr, "missed:", v)
		}
		if *check {
			os.Exit(1)
		}
	}
}

// run runs the parts, writes the page and returns the verdicts that are not good.
func run(parts []part, only string, skipPeers bool, docs string) (missed []verdict, err error) {
	kept := filepath.Join(docs, "perf")
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return nil, err
	}
	var all results
	for _, p := range parts {
		if skipPeers && p.name == "peers" {
			continue
		}
		file := filepath.Join(kept, p.name+".txt")
		if only == "" || slices.Contains(strings.Split(only, ","), p.name) {
			if err := p.run(file); err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
		}
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			fmt.Fprintf(os.Stderr, "perfdoc: no %s: that part of the page is empty\n", file)
			continue
		} else if err != nil {
			return nil, err
		}
		if err := all.read(p.name, string(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	notes, err := os.ReadFile(filepath.Join(kept, "notes.md"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	verdicts := judge(&all, limits(!skipPeers))
	page := render(&all, verdicts, string(notes), skipPeers)
	if err := os.WriteFile(filepath.Join(docs, "perf.md"), []byte(page), 0o644); err != nil {
		return nil, err
	}
	for _, v := range verdicts {
		if !v.good {
			missed = append(missed, v)
		}
	}
	return missed, nil
}

// run runs the part and keeps its output, with a head that says what it is of. On an error the old file stays.
func (p part) run(file string) error {
	head, err := describe(p)
	if err != nil {
		return err
	}
	part := file + ".part"
	out, err := os.Create(part)
	if err != nil {
		return err
	}
	defer os.Remove(part)
	defer out.Close()
	if _, err := io.WriteString(out, head); err != nil {
		return err
	}
	cmd := exec.Command("go", p.args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, os.Stdout), os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(part, file)
}

// describe returns the head of a file that is kept: lines of a key and a value.
func describe(p part) (string, error) {
	commit, err := output("git", "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	changes, err := output("git", "status", "--porcelain", "--untracked-files=no", "--", "*.go", "go.mod")
	if err != nil {
		return "", err
	}
	if changes != "" {
		commit += " with changes that are not committed"
	}
	kernel, _ := output("uname", "-sr")
	command := "go " + strings.Join(p.args, " ")
	if p.dir != "" {
		command = "cd " + p.dir + " && " + strings.Join(append(p.env, command), " ")
	}
	var b strings.Builder
	for _, l := range [][2]string{
		{"commit", commit},
		{"go", runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH},
		{"kernel", kernel},
		{"processors", fmt.Sprint(runtime.NumCPU())},
		{"memory", memory()},
		{"date", time.Now().UTC().Format("2006-01-02")},
		{"command", command},
	} {
		fmt.Fprintf(&b, "# %s: %s\n", l[0], l[1])
	}
	return b.String(), nil
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	return strings.TrimSpace(string(out)), err
}

// memory returns the size of the machine's memory, where the system tells it.
func memory() string {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "unknown"
	}
	var kb int
	if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kb); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f GiB", float64(kb)/(1<<20))
}
