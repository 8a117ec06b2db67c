package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// small is a load that is over soon.
func small(t *testing.T, args ...string) options {
	t.Helper()
	o, err := parse(append(strings.Fields("-duration 300ms -servers 12 -tools 200 -rules 60 -dynamic 20 -filters 10 -refreshes 100 -swaps 20 -checks 600 -readers 2"), args...), io.Discard)
	require.NoError(t, err)
	return o
}

func report(t *testing.T, o options) (map[string]any, int, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	o.json = true
	code := run(context.Background(), o, &stdout, &stderr)
	var r map[string]any
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &r), "%s", stdout.String())
	return r, code, stderr.String()
}

func TestAShortLoadRunsClean(t *testing.T) {
	r, code, stderr := report(t, small(t))
	require.Zero(t, code, stderr)
	for _, key := range []string{
		"seed", "servers", "tools", "rules", "dynamic_rules", "readers", "cpus", "go", "duration_seconds", "rounds", "interrupted",
		"decisions", "decisions_per_second", "lists", "lists_per_second", "batch", "latency_ns", "build_ns",
		"generations", "generations_checked", "refreshes", "swaps", "checked", "checked_by_kind", "answers", "mismatches",
		"heap_max_bytes", "heap_live_bytes", "gc_cycles", "gc_pause_ns",
	} {
		assert.Contains(t, r, key)
	}
	for _, key := range []string{"decisions_per_second", "lists_per_second", "generations", "generations_checked", "checked", "refreshes", "heap_max_bytes", "heap_live_bytes"} {
		assert.Positive(t, r[key], key)
	}
	assert.Zero(t, r["mismatches"])
	for _, name := range kindNames {
		l := r["latency_ns"].(map[string]any)[name].(map[string]any)
		for _, key := range []string{"count", "p50", "p90", "p99", "p99_9", "p99_99", "max"} {
			assert.Contains(t, l, key)
		}
		assert.Positive(t, l["count"], name)
	}
	for _, name := range buildNames {
		assert.Contains(t, r["build_ns"], name)
	}
}

func TestTheReportIsReadable(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(context.Background(), small(t), &stdout, &stderr), stderr.String())
	for _, part := range []string{"decisions/s", "lists/s", "p99.99", "list_dynamic", "generations", "0 mismatches", "GC pause", "what decided"} {
		assert.Contains(t, stdout.String(), part)
	}
	assert.Contains(t, stderr.String(), "checking")
}

// Every kind of answer is spoilt in turn: a check that cannot fail proves nothing.
func TestASpoiltAnswerIsFound(t *testing.T) {
	for k := range kinds {
		t.Run(kindNames[k], func(t *testing.T) {
			o := small(t)
			o.readers = 1
			spoilt := 0
			o.plant = func(n *note) {
				if n.kind != k || spoilt > 0 || n.notFound || n.kind.isList() && len(n.names) < 2 {
					return
				}
				spoilt++
				switch {
				case n.kind.isList():
					n.names[0], n.names[1] = n.names[1], n.names[0]
				case n.outcome.Action == "allow":
					n.outcome.Action = "ask"
				default:
					n.outcome.Rule = "deny[9999]"
				}
			}
			r, code, stderr := report(t, o)
			require.Equal(t, 1, spoilt)
			assert.Equal(t, 1, code)
			assert.EqualValues(t, 1, r["mismatches"])
			assert.Contains(t, stderr, "not the reference's (seed 1)")
			assert.Contains(t, stderr, kindNames[k]+" in view")
			assert.Contains(t, stderr, "reference: ")
		})
	}
}

func TestAnAnswerOfAnotherGenerationIsFound(t *testing.T) {
	o := small(t, "-swaps", "50")
	o.plant = func(n *note) { n.config = max(1, n.config-1) } // right before the policy was swapped
	r, code, stderr := report(t, o)
	assert.Equal(t, 1, code, stderr)
	assert.Greater(t, r["mismatches"], 10.0)
}

func TestTooFewChecksFail(t *testing.T) {
	o := small(t)
	l, err := newLoad(o)
	require.NoError(t, err)
	l.result.DurationSeconds = 5
	l.result.Checked = o.checks - 1
	problems := strings.Join(l.result.problems(l), "\n")
	assert.Contains(t, problems, "599 answers were checked, and 600 must be")
	assert.Contains(t, problems, "no answer of kind ref was checked")
	l.result.DurationSeconds = 0.1
	assert.Empty(t, l.result.problems(l))
	l.result.Checked = 0
	assert.Contains(t, strings.Join(l.result.problems(l), "\n"), "0 answers were checked")
	l.result.HeapLiveRounds = []uint64{1 << 20, 20 << 20, 20 << 20, 60 << 20}
	assert.Contains(t, strings.Join(l.result.problems(l), "\n"), "the live heap grew from 20 MiB")
}

func TestASoakRunsInRounds(t *testing.T) {
	o := small(t, "-checks", "100")
	o.soak, o.round = 400*time.Millisecond, 100*time.Millisecond
	r, code, stderr := report(t, o)
	require.Zero(t, code, stderr)
	assert.EqualValues(t, 4, r["rounds"])
	assert.GreaterOrEqual(t, r["checked"], 200.0)
}

func TestBadFlagsAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		"-servers 0": "-servers", "-servers 10 -tools 9": "-tools", "-rules -1": "-rules", "-readers 0": "-readers", "-writers 0": "-writers",
		"-batch 0": "-batch", "-batch 5000": "-batch", "-refreshes -1": "-refreshes", "-duration 0s": "-duration", "-checks 0": "-checks",
		"extra": "extra", "-nothing": "nothing",
	} {
		_, err := parse(strings.Fields(args), io.Discard)
		assert.ErrorContains(t, err, want, args)
	}
}

func TestALoadWithoutChurnRuns(t *testing.T) {
	r, code, stderr := report(t, small(t, strings.Fields("-refreshes 0 -swaps 0 -dynamic 0 -filters 0 -rules 0")...))
	require.Zero(t, code, stderr)
	assert.Zero(t, r["generations"])
	assert.EqualValues(t, 1, r["generations_checked"])
}
