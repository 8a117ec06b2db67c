package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/catalog"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// leaves are what random rules are made of: every form of a condition, and things that are none.
var leaves = []string{
	`"fs/a"`, `"fs/*"`, `"*"`, `"FS/b"`, `{server: fs, regexp: "a|b"}`, `{annotation: {read_only: true}}`,
	`{args: {x: {equals: 1}}}`, `{args: {x: {equals: 2}}}`, `{args: {y: {exists: true}}}`,
	`{attribute: {team: {equals: ops}}}`, `{tainted: {}}`, `{tainted: {ignore: [web]}}`,
}

func randomRule(r *rand.Rand) string {
	n := 1 + r.IntN(3)
	if n == 1 {
		return leaves[r.IntN(len(leaves))]
	}
	var members []string
	for range n {
		members = append(members, leaves[r.IntN(len(leaves))])
	}
	return "{all: [" + strings.Join(members, ", ") + "]}"
}

func randomPolicy(t *testing.T, r *rand.Rand) *policyfile.Document {
	t.Helper()
	var b strings.Builder
	b.WriteString("version: 1\n")
	if r.IntN(3) == 0 {
		fmt.Fprintf(&b, "filter: {exclude: [%s]}\n", leaves[r.IntN(4)])
	}
	fmt.Fprintf(&b, "policy:\n  default: %s\n  pin_tools: %v\n  allow_new_tools: %v\n  trusted: %v\n",
		[]string{"ask", "deny"}[r.IntN(2)], r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0)
	for _, list := range []string{"deny", "ask", "allow"} {
		var rules []string
		for range r.IntN(4) {
			rules = append(rules, randomRule(r))
		}
		if rules != nil {
			fmt.Fprintf(&b, "  %s: [%s]\n", list, strings.Join(rules, ", "))
		}
	}
	doc, err := policyfile.Parse([]byte(b.String()), policyfile.Options{File: "p.yaml"})
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	return doc
}

// Whatever a call is like, the change it brings about is one that diff shows, with the right answers behind "when".
func TestDiffShowsEveryChangeThatACallCanBringAbout(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	c := &catalog.Catalog{Server: "fs"}
	for _, definition := range []string{`{"name":"a"}`, `{"name":"b"}`, `{"name":"c"}`} {
		print, err := engine.ComputeFingerprint([]byte(definition))
		if err != nil {
			t.Fatal(err)
		}
		tool := engine.Tool{Server: "fs", Name: definition[9:10], Raw: []byte(definition), Fingerprint: print}
		if tool.Name != "c" {
			tool.Hints.ReadOnly = engine.True
		}
		c.Tools = append(c.Tools, tool)
	}
	var calls []map[string]any
	for _, x := range []any{nil, 1.0, 2.0, "1"} {
		for _, y := range []any{nil, true} {
			args := map[string]any{}
			if x != nil {
				args["x"] = x
			}
			if y != nil {
				args["y"] = y
			}
			calls = append(calls, args)
		}
	}
	ctx := context.Background()
	changes, conditional := 0, 0
	for range 300 {
		old, now := randomPolicy(t, r), randomPolicy(t, r)
		if r.IntN(3) == 0 { // a policy and a small change to it are more like what people compare
			now.Filter, now.Policy.Deny, now.Policy.Ask = old.Filter, old.Policy.Deny, old.Policy.Ask
		}
		d, err := newDiffer(old, now, []*catalog.Catalog{c}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.judge(newProgress(new(strings.Builder))); err != nil {
			t.Fatal(err)
		}
		var filters [2]*engine.Filter
		var policies [2]*engine.Policy
		for i, doc := range d.docs {
			if filters[i], policies[i], err = doc.Compile(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range c.Tools {
			tool := &c.Tools[i]
			at := slices.IndexFunc(d.items, func(it diffItem) bool { return it.name == tool.Name })
			for n := range 200 {
				st := d.states[n%3]
				req := &engine.Request{HasApprover: n%2 == 0, Approved: st.approved}
				if taint := r.IntN(3); taint > 0 {
					req.Taint = []string{[]string{"web", "mail"}[taint-1]}
				}
				if team := r.IntN(3); team > 0 {
					req.Attributes = map[string]any{"team": []any{"ops", 5.0}[team-1]}
				}
				call := &engine.Call{Server: "fs", Name: tool.Name, Args: calls[r.IntN(len(calls))]}
				var is [2]standing
				for k := range is {
					decision, err := policies[k].Evaluate(ctx, call, tool, req)
					if err != nil {
						t.Fatal(err)
					}
					is[k] = standingOf(visibilityOf(filters[k].Visible(ctx, tool, req)), decision)
				}
				if is[0].same(is[1]) {
					continue
				}
				changes++
				shown := at >= 0 && slices.ContainsFunc(d.items[at].situations, func(s situation) bool {
					ok := s.approver == req.HasApprover && s.state == st.name && s.old.same(is[0]) && s.new.same(is[1])
					if ok && s.when != nil {
						conditional++
					}
					return ok
				})
				if !shown {
					t.Fatalf("%s, %s, approver %v, args %v, taint %v, attributes %v: %v becomes %v, and diff does not show it:\n%+v\n%+v",
						tool.Name, st.name, req.HasApprover, call.Args, req.Taint, req.Attributes, is[0], is[1], old.Policy, now.Policy)
				}
				if up := is[1].rank() > is[0].rank(); up && !d.items[at].wider {
					t.Fatalf("%s: %v becomes %v, and is not called wider", tool.Name, is[0], is[1])
				}
			}
		}
	}
	if changes < 10_000 || conditional < 2_000 {
		t.Errorf("%d changes, %d of them conditional: not much of a test", changes, conditional)
	}
}

// A policy that differs from itself in nothing never is wider, whatever conditions it has.
func TestDiffOfAPolicyWithItselfIsEmpty(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	c := &catalog.Catalog{Server: "fs", Tools: []engine.Tool{{Server: "fs", Name: "a", Fingerprint: "x"}}, Resources: []string{"u"}}
	for range 200 {
		p := randomPolicy(t, r)
		d, err := newDiffer(p, p, []*catalog.Catalog{c}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.judge(newProgress(new(strings.Builder))); err != nil {
			t.Fatal(err)
		}
		d.note()
		if len(d.items) > 0 || len(d.notes) > 2 {
			t.Fatalf("%+v\n%q", d.items, d.notes)
		}
	}
}

// More conditions than can be tried count as wider, and do not take for ever.
func TestDiffOfTooManyConditionsIsWider(t *testing.T) {
	var b strings.Builder
	b.WriteString("version: 1\npolicy:\n  allow:\n")
	for i := range 40 {
		fmt.Fprintf(&b, "    - {args: {k%d: {equals: 1}}}\n", i)
	}
	load := func(text string) *policyfile.Document {
		doc, err := policyfile.Parse([]byte(text), policyfile.Options{File: "p.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	old := load(b.String() + "  deny: [{args: {k0: {equals: 1}}}, {args: {z: {exists: true}}}]\n")
	many := strings.Replace(b.String(), "allow:", "ask:", 1)
	c := &catalog.Catalog{Server: "fs", Tools: []engine.Tool{{Server: "fs", Name: "a", Fingerprint: "x"}}}
	d, err := newDiffer(old, load(many+"  allow: [{args: {all: {exists: true}}}]\n"), []*catalog.Catalog{c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.judge(newProgress(new(strings.Builder))); err != nil {
		t.Fatal(err)
	}
	d.note()
	// First match: each condition is asked only where those before it do not hold, so that even forty stay few.
	if len(d.items) == 0 {
		t.Error("nothing differs")
	}
	all := "version: 1\npolicy:\n  allow: ["
	for i := range 20 {
		all += fmt.Sprintf("{all: [{args: {a%d: {equals: 1}}}, {args: {b%d: {equals: 1}}}]}, ", i, i)
	}
	d, err = newDiffer(load(all+"\"fs/a\"]\n"), load("version: 1\npolicy: {allow: [\"fs/a\"]}\n"), []*catalog.Catalog{c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.judge(newProgress(new(strings.Builder))); err != nil {
		t.Fatal(err)
	}
	d.note()
	var out strings.Builder
	if err := d.writeText(&out, false); err != nil {
		t.Fatal(err)
	}
	if d.count(func(i *diffItem) bool { return i.wider }) == 0 || !strings.Contains(out.String(), "too many conditions to compare") {
		t.Errorf("%s", &out)
	}
}

func TestTextDiff(t *testing.T) {
	long := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 8)
	for _, c := range []struct{ before, after, want string }{
		{"a", "b", "- a|+ b"},
		{"a\nb\nc", "a\nc", "  a|- b|  c"},
		{"a", "a\n", "  a|+ "},
		{long + "x" + long, long + "yz" + long, "- …" + long[len(long)-40:] + "x" + long[:40] + "…|+ …" + long[len(long)-40:] + "yz" + long[:40] + "…"},
		{strings.Repeat("é", 200), strings.Repeat("é", 201), "- …" + strings.Repeat("é", 20) + "|+ …" + strings.Repeat("é", 21)},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9", "1\n2\n3\n4\n5\n6\n7\n8\nX", "  …|  6|  7|  8|- 9|+ X"},
	} {
		got := strings.Join(textDiff(strings.Split(c.before, "\n"), strings.Split(c.after, "\n")), "|")
		if got != c.want {
			t.Errorf("%.40q and %.40q:\n got %s\nwant %s", c.before, c.after, got, c.want)
		}
	}
}
