package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"go.opentelemetry.io/otel/trace"
)

var update = flag.Bool("update", false, "write testdata/audit.jsonl anew")

// timeless leaves out what is another one on every run.
func timeless(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || strings.HasSuffix(a.Key, "_ms") {
		return slog.Attr{}
	}
	return a
}

func logTo(w io.Writer, replace func([]string, slog.Attr) slog.Attr) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: replace}))
}

// The records of requests that end in every way, through a real guard.
func TestAuditRecords(t *testing.T) {
	var b syncBuffer
	w := newWorld(t, NewAudit(logTo(&b, timeless), AuditOptions{}), nil)
	answers := w.run(script())
	got := b.String()

	results := map[string]bool{}
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	for _, line := range lines {
		var r struct{ Result string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		results[r.Result] = true
	}
	if len(lines) != len(answers) {
		t.Errorf("%d records of %d requests", len(lines), len(answers))
	}
	for _, r := range []hub.Result{hub.ResultPassed, hub.ResultListed, hub.ResultRan, hub.ResultHidden, hub.ResultDenied,
		hub.ResultRefused, hub.ResultPending, hub.ResultMalformed, hub.ResultMethod} {
		if !results[string(r)] {
			t.Errorf("no request ended as %s", r)
		}
	}
	if !strings.Contains(strings.Join(answers, ""), canary) {
		t.Error("no answer has the canary: what is it then that is not told?")
	}
	if strings.Contains(got, canary) || strings.Contains(got, inexact) {
		t.Errorf("an argument was told:\n%s", got)
	}

	const file = "testdata/audit.jsonl"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wanted := strings.Split(strings.TrimSuffix(string(want), "\n"), "\n")
	for i := range max(len(lines), len(wanted)) {
		g, w := "", ""
		if i < len(lines) {
			g = lines[i]
		}
		if i < len(wanted) {
			w = wanted[i]
		}
		if g != w {
			t.Errorf("record %d\n got %s\nwant %s", i, g, w)
		}
	}
}

// record observes one event and returns its record.
func record(t testing.TB, ctx context.Context, o AuditOptions, e hub.Event) map[string]any {
	t.Helper()
	var b bytes.Buffer
	NewAudit(logTo(&b, nil), o).Observe(ctx, e)
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v: %q", err, b.String())
	}
	return got
}

// Who asks for arguments gets them, and the whole text of errors.
func TestAuditArguments(t *testing.T) {
	for _, x := range []struct {
		guard, audit, errors bool
		arguments, texts     bool
	}{
		{false, false, false, false, false},
		{true, false, false, false, false},
		{false, true, false, false, true},
		{false, false, true, false, true},
		{true, true, false, true, true},
	} {
		var b syncBuffer
		w := newWorld(t, NewAudit(logTo(&b, nil), AuditOptions{Arguments: x.audit, Errors: x.errors}), func(o *hub.GuardOptions) { o.Arguments = x.guard })
		w.run([][2]string{call("fs__fail", `{"b":"`+canary+`","a":1}`)})
		got := b.String()
		if arguments := strings.Contains(got, `"arguments":"{\"a\":1,\"b\":\"`+canary+`\"}"`); arguments != x.arguments {
			t.Errorf("%+v: %s", x, got)
		}
		if texts := strings.Contains(got, `"error":"cannot open {\"a\":1,\"b\":\"`+canary); texts != x.texts {
			t.Errorf("%+v: %s", x, got)
		}
		if strings.Contains(got, canary) != (x.arguments || x.texts) {
			t.Errorf("%+v: %s", x, got)
		}
	}
	long := hub.Event{Arguments: json.RawMessage(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)}
	got, _ := record(t, t.Context(), AuditOptions{Arguments: true}, long)["arguments"].(string)
	if len(got) > maxArguments+64 || !strings.HasSuffix(got, " more bytes)") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestAuditTimesAndSpans(t *testing.T) {
	at := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	s := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	got := record(t, trace.ContextWithSpanContext(t.Context(), s), AuditOptions{}, hub.Event{
		Time: at, Method: "tools/call", Result: hub.ResultRan, Asked: true,
		Duration: 1500 * time.Microsecond, Backend: 250 * time.Microsecond, Waited: time.Millisecond,
	})
	for key, want := range map[string]any{
		"time": "2026-08-01T12:00:00Z", "duration_ms": 1.5, "backend_ms": 0.25, "waited_ms": 1.0,
		"trace_id": s.TraceID().String(), "span_id": s.SpanID().String(), "level": "INFO",
	} {
		if got[key] != want {
			t.Errorf("%s is %v, not %v", key, got[key], want)
		}
	}
}

// Whatever a caller or a server sends is one record, of bounded length, and shows what it is.
func TestAuditHostileBytes(t *testing.T) {
	for _, s := range []string{
		hostile, "\xff\xfe\x80", strings.Repeat("\x00", 1<<20), strings.Repeat("\U000e0001", 1<<18), strings.Repeat("é", 1<<19),
		`"quoted"`, "a\u2028b", strings.Repeat("\xf0\x9f\x98", 5000),
	} {
		e := hub.Event{
			Method: s, Session: s, Caller: hub.Caller{Principal: s, View: s}, Result: hub.Result(s), Kind: 9,
			Exposed: s, Target: engine.Target{Server: s, Name: s}, Asked: true, Approval: hub.Approval{By: s},
			Err: errors.New(s), IdentifyErr: errors.New(s), Decided: true, ArgsDigest: s,
		}
		var b bytes.Buffer
		NewAudit(logTo(&b, nil), AuditOptions{Errors: true}).Observe(t.Context(), e)
		if n := bytes.Count(b.Bytes(), []byte("\n")); n != 1 || b.Len() > 12*20*maxField || !utf8.Valid(b.Bytes()) {
			t.Errorf("%.20q: %d lines, %d bytes", s, n, b.Len())
		}
		var got map[string]any
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Errorf("%.20q: %v", s, err)
		}
		for _, key := range []string{"principal", "exposed", "error", "identify_error", "by", "name", "method"} {
			v, _ := got[key].(string)
			for _, r := range v {
				if r < ' ' || r == 0x1b || r == 0x9b || r == 0x202e || r == 0x2028 || r == utf8.RuneError || r == 0xe0001 {
					t.Errorf("%.20q: %s has %q", s, key, r)
					break
				}
			}
			if cut := strings.HasSuffix(v, " more bytes)"); cut != (len(s) > maxField) {
				t.Errorf("%.20q: %s is cut %v: %.2000s", s, key, cut, v)
			}
		}
	}
	if a, b := field("a\u202e"), field(`"a\u202e"`); a == b {
		t.Errorf("two names look alike: %s", a)
	}
}

// FuzzField: what field returns prints, is bounded, and is the text itself where that is good.
func FuzzField(f *testing.F) {
	f.Add("a")
	f.Add(hostile)
	f.Add(strings.Repeat("é", maxField))
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := field(s)
		if !prints(got) && !strings.HasPrefix(got, `"`) || !utf8.ValidString(got) || len(got) > 10*maxField+64 {
			t.Errorf("%q became %q", s, got)
		}
		if prints(s) && len(s) <= maxField && got != s {
			t.Errorf("%q became %q", s, got)
		}
	})
}

type brokenSink struct{}

func (brokenSink) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

type panicking struct{}

func (panicking) Observe(context.Context, hub.Event) { panic("no") }

// Neither a sink that cannot be written to nor an observer that panics stops a call, or keeps it from the others.
func TestObserversThatFail(t *testing.T) {
	var b syncBuffer
	audit := NewAudit(logTo(&b, nil), AuditOptions{})
	var none *Metrics
	var noTracing *Tracing
	all := Observers{nil, panicking{}, NewAudit(logTo(brokenSink{}, nil), AuditOptions{}), none, noTracing, &Metrics{}, audit}
	w := newWorld(t, all, nil)
	if got := w.run([][2]string{call("fs__read", `{}`)}); !strings.Contains(got[0], "ran {}") {
		t.Error(got)
	}
	if got := b.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"result":"ran"`) {
		t.Errorf("the last one heard %q", got)
	}
}

func TestAuditLevels(t *testing.T) {
	caller := errors.New("who is this?")
	for what, x := range map[string]struct {
		e    hub.Event
		want string
	}{
		"ran":                {hub.Event{Result: hub.ResultRan}, "INFO"},
		"given up":           {hub.Event{Result: hub.ResultRan, Err: fmt.Errorf("x: %w", context.Canceled)}, "INFO"},
		"too slow":           {hub.Event{Result: hub.ResultRan, Err: context.DeadlineExceeded}, "ERROR"},
		"cannot go on":       {hub.Event{Result: hub.ResultRan, Err: hub.ErrCannotGoOn}, "WARN"},
		"changed":            {hub.Event{Result: hub.ResultRefused, Err: hub.ErrChanged}, "WARN"},
		"malformed":          {hub.Event{Result: hub.ResultMalformed, Err: engine.ErrTooDeep}, "WARN"},
		"unidentified":       {hub.Event{Result: hub.ResultListed, IdentifyErr: caller}, "WARN"},
		"Identify panics":    {hub.Event{Result: hub.ResultListed, IdentifyErr: &hub.PanicError{Func: "Identify", Value: 1}}, "ERROR"},
		"no list":            {hub.Event{Result: hub.ResultListed, Err: caller}, "ERROR"},
		"no decision":        {hub.Event{Result: hub.ResultDenied, Err: caller}, "ERROR"},
		"not remembered":     {hub.Event{Result: hub.ResultRan, Asked: true, Approval: hub.Approval{Verdict: hub.Approved, Err: caller}}, "ERROR"},
		"declined":           {hub.Event{Result: hub.ResultRefused, Asked: true, Approval: hub.Approval{Err: caller}}, "WARN"},
		"nothing at all":     {hub.Event{}, "WARN"},
		"passed":             {hub.Event{Result: hub.ResultPassed}, "DEBUG"},
		"a result of no one": {hub.Event{Result: "?"}, "WARN"},
	} {
		if got := record(t, t.Context(), AuditOptions{}, x.e)["level"]; got != x.want {
			t.Errorf("%s: %v, not %s", what, got, x.want)
		}
	}
}

// What the audit log says without being asked costs nothing where nobody listens.
func TestAuditBelowItsLevel(t *testing.T) {
	a := NewAudit(slog.New(slog.NewJSONHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError})), AuditOptions{})
	e := sample()
	if n := testing.AllocsPerRun(100, func() { a.Observe(context.Background(), e) }); n > 1 { // the copy of the event
		t.Errorf("%v allocations", n)
	}
}

// sample is an event like most.
func sample() hub.Event {
	return hub.Event{
		Time: time.Now(), Duration: time.Millisecond, Backend: 900 * time.Microsecond, Generation: 7, Method: "tools/call",
		Session: "s1", Caller: hub.Caller{Principal: "ada", View: "main"}, Result: hub.ResultRan, Exposed: "fs__read",
		Target: engine.Target{Server: "fs", Name: "read"}, Decided: true, ArgsDigest: "sha256:" + strings.Repeat("0", 64),
	}
}

func BenchmarkAudit(b *testing.B) {
	a := NewAudit(slog.New(slog.NewJSONHandler(io.Discard, nil)), AuditOptions{})
	e := sample()
	b.ReportAllocs()
	for b.Loop() {
		a.Observe(b.Context(), e)
	}
}
