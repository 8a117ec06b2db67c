package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/fuzz"
	"github.com/penstock-mcp/penstock/policyfile"
)

var vectorsFlag = flag.String("vectors", "", "run the vectors of this file alone: an absolute path, or one seen from engine/")

// answerer is one way to put a vector to the engine. It reports false where the vector is none of its business.
type answerer struct {
	name   string
	answer func(fuzz.Vector) (fuzz.Result, bool)
}

// answerers are all the ways. The first one takes every vector.
var answerers = []answerer{
	{"document", throughDocument},
	{"request", throughRequest},
	{"snapshot", throughSnapshot},
	{"snapshot with a baseline in the request", throughSnapshotBaseline},
}

func TestVectors(t *testing.T) {
	files := []string{*vectorsFlag}
	if *vectorsFlag == "" {
		var err error
		files, err = filepath.Glob("../testdata/vectors/*.jsonl")
		require.NoError(t, err)
		require.NotEmpty(t, files, "no file of vectors")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			count, err := runVectors(file)
			t.Logf("%d vectors", count)
			for _, line := range strings.Split(fmt.Sprint(err), "\n") {
				if err != nil {
					t.Error(line)
				}
			}
		})
	}
}

// runVectors puts every vector of a file to the engine in every way, and returns how many there are and one error for
// everything that is not as the file says. A file that cannot be read to its end, or that is empty, is an error.
func runVectors(file string) (int, error) {
	vectors, err := fuzz.ReadVectorFile(file)
	if err != nil {
		return len(vectors), err
	}
	var errs []error
	for _, v := range vectors {
		for i, way := range answerers {
			result, ok := way.answer(v)
			if !ok && i > 0 {
				continue
			}
			if err := v.Check(result, i == 0); err != nil {
				errs = append(errs, fmt.Errorf("%s:%d: %s (by %s): %w", file, v.Line, v.ID, way.name, err))
			}
		}
	}
	return len(vectors), errors.Join(errs...)
}

// compileVector compiles the vector's configuration from a document.
func compileVector(v fuzz.Vector) (*engine.Filter, *engine.Policy, error) {
	text, ok := v.Document()
	if !ok {
		return nil, engine.AllowAll(), nil
	}
	doc, err := policyfile.Parse([]byte(text), policyfile.Options{Predicates: filePredicates(v.Predicates())})
	if err != nil {
		return nil, nil, err
	}
	return doc.Compile()
}

func filePredicates(list []fuzz.NamedPredicate) policyfile.Predicates {
	ps := policyfile.Predicates{}
	for _, p := range list {
		if p.Args {
			ps[p.Name] = policyfile.ArgsPredicate(p.Func)
		} else {
			ps[p.Name] = policyfile.ToolPredicate(p.Func)
		}
	}
	return ps
}

// throughDocument compiles the document and asks the stateless functions.
func throughDocument(v fuzz.Vector) (fuzz.Result, bool) {
	f, p, err := compileVector(v)
	if err != nil || v.Op == "compile" {
		return fuzz.Result{Compile: err}, true
	}
	c := v.Case
	ctx, tool, req := context.Background(), c.Target.Tool(), c.Request.Engine()
	if v.Kind == "filter" {
		return fuzz.Result{Outcome: fuzz.Outcome{
			Visible:       f.Visible(ctx, tool, req),
			StaticVisible: f.StaticVisible(tool),
		}}, true
	}
	var d engine.Decision
	switch c.Target.Kind {
	case fuzz.Resource:
		d, err = p.EvaluateResource(c.Target.Server, c.Target.Name, req)
	case fuzz.Prompt:
		d, err = p.EvaluatePrompt(c.Target.Server, c.Target.Name, req)
	default:
		d, err = p.Evaluate(ctx, c.EngineCall(), tool, req)
	}
	return fuzz.Result{Outcome: fuzz.OutcomeOf(d, err), Err: err}, true
}

// throughRequest is throughDocument with the question as a request object.
func throughRequest(v fuzz.Vector) (fuzz.Result, bool) {
	line, ok := v.Case.RequestObject()
	if !ok || v.Op == "compile" {
		return fuzz.Result{}, false
	}
	f, p, err := compileVector(v)
	if err != nil {
		return fuzz.Result{Compile: err}, true
	}
	r, err := policyfile.DecodeRequest([]byte(line))
	if err != nil {
		return fuzz.Result{Compile: fmt.Errorf("request %s: %w", line, err)}, true
	}
	ctx := context.Background()
	if v.Kind == "filter" {
		return fuzz.Result{Outcome: fuzz.Outcome{
			Visible:       f.Visible(ctx, &r.Tool, &r.Request),
			StaticVisible: f.StaticVisible(&r.Tool),
		}}, true
	}
	d, err := r.Evaluate(ctx, p)
	return fuzz.Result{Outcome: fuzz.OutcomeOf(d, err), Err: err}, true
}

// throughSnapshot refreshes an engine with the tool, by the request's baseline, and asks a view.
func throughSnapshot(v fuzz.Vector) (fuzz.Result, bool) {
	req := v.Case.Request.Engine()
	baseline := req.Approved
	req.Approved = nil
	return askSnapshot(v, baseline, req)
}

// throughSnapshotBaseline is throughSnapshot with the baseline in the request, and another one in the engine.
func throughSnapshotBaseline(v fuzz.Vector) (fuzz.Result, bool) {
	tool := engine.Target{Server: v.Case.Target.Server, Name: v.Case.Target.Name}
	req := v.Case.Request.Engine()
	if req.Approved == nil {
		req.Approved = engine.NewBaseline(nil)
	}
	return askSnapshot(v, engine.NewBaseline(map[engine.Target]engine.Fingerprint{tool: "of the engine"}), req)
}

func askSnapshot(v fuzz.Vector, baseline *engine.Baseline, req *engine.Request) (fuzz.Result, bool) {
	target := v.Case.Target
	if v.Op == "compile" || target.Kind != fuzz.Tool {
		return fuzz.Result{}, false
	}
	f, p, err := compileVector(v)
	if err != nil {
		return fuzz.Result{Compile: err}, true
	}
	if v.Kind == "policy" {
		if f, err = engine.CompileFilter(engine.FilterOptions{}); err != nil {
			return fuzz.Result{Compile: err}, true
		}
	}
	// The tool stands among others, so that it is not the first one of everything.
	e, err := engine.New(engine.Config{Views: map[string]engine.View{"v": {Filter: f, Policy: p}}, Baseline: baseline})
	if err != nil {
		return fuzz.Result{Compile: err}, true
	}
	if _, err := e.Refresh("0", []engine.Tool{{Name: "other"}}); err != nil {
		return fuzz.Result{Compile: err}, true
	}
	report, err := e.Refresh(target.Server, []engine.Tool{{Name: "other-tool"}, *target.Tool()})
	if err != nil || len(report.Quarantined) > 0 {
		return fuzz.Result{}, false // a server or a name that an engine does not take
	}
	ctx, view := context.Background(), e.Snapshot().View("v")
	d, err := view.Decide(ctx, v.Case.EngineCall(), req)
	if v.Kind == "policy" {
		return fuzz.Result{Outcome: fuzz.OutcomeOf(d, err), Err: err}, true
	}
	o := fuzz.Outcome{StaticVisible: f.StaticVisible(target.Tool())}
	_, isRef := view.Ref(target.Server, target.Name)
	if isRef != o.StaticVisible {
		return fuzz.Result{Compile: fmt.Errorf("a Ref: %t", isRef)}, true
	}
	o.Visible = slices.ContainsFunc(view.AppendTools(ctx, nil, req), func(t *engine.Tool) bool {
		return t.Server == target.Server && t.Name == target.Name
	})
	if o.Visible == errors.Is(err, engine.ErrNotFound) {
		return fuzz.Result{Compile: fmt.Errorf("listed: %t, decided with error %w", o.Visible, err)}, true
	}
	return fuzz.Result{Outcome: o}, true
}

const goodVector = `{"id": "GOOD", "kind": "policy", "op": "evaluate", "policy": {"deny": ["fs/x"]}, "target": {"server": "fs", "name": "x"}, "call": {"server": "fs", "name": "x"}, "request": {"has_approver": true, "approved": [{"server": "fs", "name": "x", "fingerprint": "A"}]}, "expect": {"action": "deny", "source_not": "ask"}}`

const goodCompileVector = `{"id": "REFUSED", "kind": "filter", "op": "compile", "filter": {"exclude": ["fs/"]}, "expect": {"error": true, "names": ["exclude", "fs/"]}}`

// TestVectorRunnerFails plants one failure at a time in a good file.
func TestVectorRunnerFails(t *testing.T) {
	run := func(t *testing.T, text string) error {
		file := filepath.Join(t.TempDir(), "planted.jsonl")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := runVectors(file)
		return err
	}
	require.NoError(t, run(t, goodVector+"\n"+goodCompileVector+"\n"))

	for _, c := range []struct{ name, base, from, to, message string }{
		{"wrong action", goodVector, `"action": "deny"`, `"action": "allow"`, `action is "deny", want "allow"`},
		{"wrong source_not", goodVector, `"source_not": "ask"`, `"source_not": "deny"`, `source is "deny"`},
		{"wrong rule", goodVector, `"action": "deny"`, `"rule": "deny[1]"`, `rule is "deny[0]"`},
		{"rule where none is wanted", goodVector, `"action": "deny"`, `"rule": null`, `rule is "deny[0]"`},
		{"error wanted, none came", goodVector, `"action": "deny"`, `"error": true`, `error is <nil>`},
		{"error came, none wanted", goodCompileVector, `"error": true`, `"error": false`, `want an error: false`},
		{"text that the message lacks", goodCompileVector, `"fs/"]}}`, `"nonsense"]}}`, `the message lacks "nonsense"`},
		{"does not compile", goodVector, `["fs/x"]`, `["fs/"]`, `does not compile`},

		{"unknown field", goodVector, `"id"`, `"comment": "", "id"`, `comment: unknown key`},
		{"unknown field in another case", goodVector, `"call"`, `"Call"`, `Call: unknown key`},
		{"unknown field of target", goodVector, `"target": {`, `"target": {"tool": "x", `, `tool: unknown key`},
		{"unknown field of call", goodVector, `"call": {`, `"call": {"args": {}, `, `args: unknown key`},
		{"unknown field of request", goodVector, `"request": {`, `"request": {"tainted": [], `, `tainted: unknown key`},
		{"unknown field of approved", goodVector, `"approved": [{`, `"approved": [{"raw": {}, `, `raw: unknown key`},
		{"unknown field of expect", goodVector, `"expect": {`, `"expect": {"visible": true, `, `visible: unknown key`},
		{"unknown field of the policy", goodVector, `"policy": {`, `"policy": {"denny": [], `, `unknown key "denny"`},
		{"duplicate field", goodVector, `"call"`, `"id": "TWICE", "call"`, `duplicate key "id"`},
		{"unknown op", goodVector, `"op": "evaluate"`, `"op": "decide"`, `unknown kind "policy" or op "decide"`},
		{"op of the other kind", goodVector, `"op": "evaluate"`, `"op": "visible"`, `unknown kind "policy" or op "visible"`},
		{"unknown kind", goodVector, `"kind": "policy"`, `"kind": "rules"`, `unknown kind "rules"`},
		{"policy under a filter op", goodCompileVector, `"filter": {`, `"policy": {}, "filter": {`, `does not belong`},
		{"no expectation", goodVector, `"action": "deny", "source_not": "ask"`, ``, `nothing is expected`},
		{"no id", goodVector, `"id": "GOOD", `, ``, `id: a text is missing`},
		{"unknown predicate", goodVector, `["fs/x"]`, `[{"predicate": "maybe"}]`, `does not compile`},
		{"not JSON", goodVector, `{"id"`, `"id"`, `line 1`},
		{"empty file", goodVector, goodVector, ``, `no vectors`},
		{"file of blank lines", goodVector, goodVector, "\n \n", `no vectors`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Contains(t, c.base, c.from)
			err := run(t, strings.Replace(c.base, c.from, c.to, 1))
			require.Error(t, err)
			assert.ErrorContains(t, err, c.message)
		})
	}

	t.Run("one of many", func(t *testing.T) {
		bad := strings.Replace(goodVector, `"action": "deny"`, `"action": "ask"`, 1)
		err := run(t, goodVector+"\n"+bad+"\n"+goodVector)
		assert.ErrorContains(t, err, "planted.jsonl:2: GOOD")
	})
	t.Run("missing file", func(t *testing.T) {
		_, err := runVectors(filepath.Join(t.TempDir(), "nowhere.jsonl"))
		assert.ErrorIs(t, err, os.ErrNotExist)
	})
}
