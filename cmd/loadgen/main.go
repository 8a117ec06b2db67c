// Command loadgen runs a simulated hub under load and churn, and checks what it answers.
//
// Readers on every core decide calls and list tools, as fast as they can, while writers refresh servers and swap
// policies. A part of the answers, spread over the whole run and so over all kinds and generations, is noted down and,
// off the clock, compared with the reference evaluator for the very state that gave them. A wrong answer prints the
// case and the exit code is 1; so do too few checks. Everything is made from the sizes and the seed.
//
//	go run ./cmd/loadgen                 200 servers, 10,000 tools, 2,000 rules, 10 s
//	go run ./cmd/loadgen -json           the report as JSON
//	go run ./cmd/loadgen -soak 4h        for hours, with checks after every 10 s
//
// Memory is bounded however long it runs: what the checks of 10 s need is dropped after them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"time"
)

// options are the flags.
type options struct {
	servers, tools, rules, dynamic, filters int
	readers, writers, batch                 int
	refreshes, swaps                        float64
	duration, soak                          time.Duration
	checks                                  int
	seed                                    uint64
	json                                    bool

	round    time.Duration // the longest time between checks
	perRound int           // how many answers a round notes down
	plant    func(*note)   // spoils an answer, for tests of the checks
}

const (
	longEnough = 5 * time.Second // from which on a run must make all its checks
	shownCases = 5               // of mismatches
)

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{round: 10 * time.Second}
	f := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.servers, "servers", 200, "servers behind the hub")
	f.IntVar(&o.tools, "tools", 10_000, "tools of all servers")
	f.IntVar(&o.rules, "rules", 2_000, "static rules of the policy")
	f.IntVar(&o.dynamic, "dynamic", 40, "dynamic rules of the policy, beside the static ones")
	f.IntVar(&o.filters, "filters", 100, "exclude rules of each filter")
	f.IntVar(&o.readers, "readers", runtime.GOMAXPROCS(0), "goroutines that ask")
	f.IntVar(&o.writers, "writers", 4, "goroutines that refresh servers")
	f.IntVar(&o.batch, "batch", 64, "decisions between two looks at the clock")
	f.Float64Var(&o.refreshes, "refreshes", 20, "refreshes a second")
	f.Float64Var(&o.swaps, "swaps", 1, "changes of the policy a second")
	f.DurationVar(&o.duration, "duration", 10*time.Second, "how long to run")
	f.DurationVar(&o.soak, "soak", 0, "how long to run instead of -duration, making -checks after every 10 s")
	f.IntVar(&o.checks, "checks", 10_000, "answers to check")
	f.Uint64Var(&o.seed, "seed", 1, "what everything is made from")
	f.BoolVar(&o.json, "json", false, "write the report as JSON")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	for _, c := range []struct {
		bad  bool
		what string
	}{
		{o.servers < 1, "-servers must be at least 1"},
		{o.tools < o.servers, "-tools must be at least one for each server"},
		{o.rules < 0 || o.dynamic < 0 || o.filters < 0, "-rules, -dynamic and -filters must not be negative"},
		{o.readers < 1 || o.writers < 1, "-readers and -writers must be at least 1"},
		{o.batch < 1 || o.batch > maxBatch, fmt.Sprintf("-batch must be from 1 to %d", maxBatch)},
		{o.refreshes < 0 || o.swaps < 0, "-refreshes and -swaps must not be negative"},
		{o.duration <= 0 || o.soak < 0, "-duration must be positive"},
		{o.checks < 1, "-checks must be at least 1: a run that checks nothing proves nothing"},
	} {
		if c.bad {
			return o, errors.New(c.what)
		}
	}
	return o, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(2)
	}
	os.Exit(run(ctx, o, os.Stdout, os.Stderr))
}

// run runs the load and writes the report. It returns the exit code.
func run(ctx context.Context, o options, stdout, stderr io.Writer) int {
	total, checks := o.duration, o.checks
	if o.soak > 0 {
		total = o.soak
	} else if rounds := int((total + o.round - 1) / o.round); rounds > 1 {
		checks = checks/rounds + 1
	}
	o.perRound = checks + checks/10 + 1 // a tenth more, for kinds that do not come to their part
	l, err := newLoad(o)
	if err != nil {
		fmt.Fprintln(stderr, "loadgen:", err)
		return 1
	}
	for left := total; left > 0 && ctx.Err() == nil; left -= o.round {
		took := l.round(ctx, min(o.round, left), stderr)
		l.result.endRound(took)
		started := time.Now()
		fmt.Fprintf(stderr, "checking %d answers against the reference", l.notes())
		l.result.add(l.check())
		fmt.Fprintf(stderr, ": %d mismatches, %.1f s\n", l.result.Mismatches, time.Since(started).Seconds())
		l.forget()
		if l.result.Mismatches > 0 {
			break
		}
		l.result.settle()
	}
	l.result.Interrupted = ctx.Err() != nil
	l.result.finish(l)
	if err := l.result.write(stdout, o.json); err != nil {
		fmt.Fprintln(stderr, "loadgen:", err)
		return 1
	}
	problems := l.result.problems(l)
	for _, p := range problems {
		fmt.Fprintln(stderr, "FAIL:", p)
	}
	if len(problems) > 0 {
		return 1
	}
	return 0
}

// notes counts the answers noted down in the round.
func (l *load) notes() int {
	n := 0
	for _, r := range l.readers {
		n += len(r.notes)
	}
	return n
}
