package fuzz

import (
	"context"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/fold"
	"github.com/penstock-mcp/penstock/policyfile"
)

// addSeeds adds starting points for a target whose cases are made from bytes: nothing, and random bytes long enough
// for a whole case.
func addSeeds(f *testing.F) {
	f.Add([]byte{})
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		data := make([]byte, 50+25*i)
		for j := range data {
			data[j] = byte(rng.Uint32())
		}
		f.Add(data)
	}
}

func FuzzFilter(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { tryFilter(t, FromBytes(data), &tally{}) })
}

func FuzzPolicy(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { tryPolicy(t, FromBytes(data), Tool, &tally{}) })
}

func FuzzResources(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { tryPolicy(t, FromBytes(data), Resource, &tally{}) })
}

func FuzzPrompts(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { tryPolicy(t, FromBytes(data), Prompt, &tally{}) })
}

// FuzzPattern puts any text into every place of a rule that takes a pattern.
func FuzzPattern(f *testing.F) {
	for _, seed := range [][3]string{
		{"*/delete_*", "fs", "Delete-Repo"}, {"fs//x", "fs", "x"}, {"a*b*c", "fs", "aXbXXc"}, {"resource:*/x://y", "fs", "x://y"},
		{"prompt:gh/review", "gh", "REVIEW"}, {"i\u0307*", "fs", "İx"}, {"\u212a/K", "k", "\u212a"}, {"fs/\xff", "fs", "\xff"}, {"fs/x ", "fs", "x "},
		{"*a*a*a*", "fs", "aa"}, {"é*", "fs", "É\xff"}, {"fs/a\u200bb", "fs", "a\u200bb"}, {"/", "", ""}, {"**/**", "a:b", "\n"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(tryPattern)
}

// tryPattern asks about a pattern in every list of a policy and a filter, and about it as the server of a regexp.
func tryPattern(t *testing.T, pattern, server, name string) {
	rule := Rule{Form: Pattern, Text: pattern}
	kind, _ := rule.kind()
	for _, rules := range [][]Rule{{rule}, {{Form: All, Rules: []Rule{rule}}}, {{Form: Regexp, Kind: kind, Server: pattern, Text: "^a|x$"}}} {
		for _, p := range []*Policy{{Deny: rules}, {Ask: rules}, {Allow: rules}} {
			p.Scope = []Kind{kind}
			compiled, err := p.Compile()
			if !sameRefusal(t, pattern, p.Check(), err) {
				continue
			}
			for _, target := range []Target{
				{Kind: kind, Server: server, Name: name},
				{Kind: kind, Server: splitPattern(pattern).server, Name: splitPattern(pattern).name},
			} {
				c := Case{Policy: p, Target: target}
				if want, got := c.AskReference(), c.AskEngine(nil, compiled); want != got {
					complain(t, c, "the policy", want, got)
				}
			}
		}
		for _, f := range []*Filter{{Include: rules}, {Exclude: rules}} {
			compiled, err := f.Compile()
			if !sameRefusal(t, pattern, f.Check(), err) {
				continue
			}
			c := Case{Filter: f, Target: Target{Kind: Tool, Server: server, Name: name}}
			if want, got := c.AskReference(), c.AskEngine(compiled, nil); want != got {
				complain(t, c, "the filter", want, got)
			}
		}
	}
}

// FuzzStaticThenDynamic filters a list at refresh and again at read time, which must equal reading alone.
func FuzzStaticThenDynamic(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { tryStaticThenDynamic(t, FromBytes(data)) })
}

func tryStaticThenDynamic(t *testing.T, g *Gen) {
	g.Valid = true
	f := g.Filter()
	compiled, err := f.Compile()
	if err != nil {
		t.Fatalf("%v\n%s", err, f.Text())
	}
	for range 6 {
		c := Case{Filter: f, Target: g.Target(Tool, append(f.Include, f.Exclude...)...)}
		c.Request = g.Request(c.Target)
		o := c.AskEngine(compiled, nil)
		if (o.StaticVisible && o.Visible) != o.Visible {
			complain(t, c, "static filtering", c.AskReference(), o)
		}
		// Without functions the two are one.
		dynamic := false
		for _, r := range append(f.Include, f.Exclude...) {
			dynamic = dynamic || r.dynamic()
		}
		if !dynamic && o.Visible != o.StaticVisible {
			complain(t, c, "a static filter", c.AskReference(), o)
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, seed := range [][2]string{{"Delete-Repo", "delete.repo"}, {"İX", "i\u0307x"}, {"ΑΣ", "ας"}, {"K", "\u212a"}, {"a\xff", "A\xfe"}, {"\xe2\x84", "\xaa"}, {"ß", "ẞ"}, {"Ꭰ", "ꭰ"}, {"", "-"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(tryFold)
}

func tryFold(t *testing.T, a, b string) {
	x, y := Fold(a), Fold(b)
	if got := fold.String(a); got != x {
		t.Fatalf("fold of %+q is %+q, want %+q", a, got, x)
	}
	if got := string(fold.Append([]byte("before"), a)); got != "before"+x {
		t.Fatalf("append of %+q is %+q, want %+q", a, got, x)
	}
	if got := fold.Is(a); got != (x == a) {
		t.Fatalf("Is(%+q) is %t", a, got)
	}
	if got := fold.Equal(a, b); got != (x == y) {
		t.Fatalf("Equal(%+q, %+q) is %t", a, b, got)
	}
	// "It is idempotent, and for valid UTF-8 fold(a+b) == fold(a)+fold(b)."
	if got := fold.String(x); got != x {
		t.Fatalf("the fold of %+q folds again, to %+q", a, got)
	}
	if got := fold.String(a + b); (utf8.ValidString(a) || utf8.ValidString(b)) && got != x+y {
		t.Fatalf("fold of %+q + %+q is %+q, want %+q", a, b, got, x+y)
	}
}

// FuzzDocument writes definitions as documents, in JSON and in YAML, which must mean what the Go options mean.
func FuzzDocument(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { tryDocument(t, FromBytes(data), &tally{}) })
}

func tryDocument(t *testing.T, g *Gen, count *tally) {
	kind := pick(g, []Kind{Tool, Tool, Resource, Prompt})
	filter, policy := g.Filter(), g.Policy(kind)
	text, ok := Document(filter, policy)
	if !ok {
		count.add("cannot be written")
		return
	}
	yaml, err := YAML(g, text)
	if err != nil {
		t.Fatal(err)
	}
	var goErr error
	goFilter, err := filter.Compile()
	if err != nil {
		goErr = err
	}
	goPolicy, err := policy.Compile()
	if err != nil {
		goErr = err
	}
	questions := []Case{}
	for range 3 {
		c := g.Question(policy, kind)
		if kind == Tool {
			c.Filter = filter
		}
		questions = append(questions, c)
	}
	for _, doc := range []string{text, yaml} {
		f, p, err := compileDocument(doc)
		if !sameRefusal(t, doc, goErr, err) {
			count.add("refused")
			continue
		}
		for _, c := range questions {
			if kind != Tool {
				goFilter, f = nil, nil
			}
			want, got := c.AskEngine(goFilter, goPolicy), c.AskEngine(f, p)
			if want != got {
				t.Logf("document:\n%s", doc)
				complain(t, c, "the document (here \"reference\" is the Go options)", want, got)
			}
			count.add("compared")
		}
	}
}

// compileDocument reads and compiles a document in which the generator's predicates are known.
func compileDocument(doc string) (*engine.Filter, *engine.Policy, error) {
	ps := policyfile.Predicates{}
	for _, p := range Predicates("fs", "a") {
		if p.Args {
			ps[p.Name] = policyfile.ArgsPredicate(p.Func)
		} else {
			ps[p.Name] = policyfile.ToolPredicate(p.Func)
		}
	}
	d, err := policyfile.Parse([]byte(doc), policyfile.Options{Predicates: ps})
	if err != nil {
		return nil, nil, err
	}
	return d.Compile()
}

// FuzzDocumentBytes reads anything as a document: it may be refused and must not panic, and a JSON document that is not
// refused is one for the reference, too.
func FuzzDocumentBytes(f *testing.F) {
	g := FromSeed(1)
	g.Valid = true
	for range 10 {
		text, _ := Document(g.Filter(), g.Policy(Tool))
		f.Add([]byte(text))
		yaml, err := YAML(g, text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(yaml))
	}
	for _, seed := range []string{"", "{", "version: 1", "version: 1\npolicy: {deny: [*/x]}", "version: 1\nfilter: {include: []}", "a: &a [*a]", "\xff", "---\n---"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		filter, policy, err := compileDocument(string(data))
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a message")
			}
			return
		}
		ctx := context.Background()
		tool := &engine.Tool{Server: "fs", Name: "x"}
		filter.Visible(ctx, tool, nil)
		if _, err := policy.Evaluate(ctx, &engine.Call{Server: "fs", Name: "x"}, tool, nil); err != nil {
			t.Fatal(err)
		}
		tryAcceptedDocument(t, string(data))
	})
}

// tryAcceptedDocument holds a document that was not refused against the reference, if it is JSON.
func tryAcceptedDocument(t *testing.T, doc string) {
	n, err := readJSON(doc, 1000)
	if err != nil || n.kind != 'o' {
		return
	}
	for i, key := range n.keys {
		section := doc[n.items[i].start:n.items[i].end]
		var err error
		switch key {
		case "filter":
			var f *Filter
			if f, err = ReadFilter(section); err == nil {
				err = f.Check()
			}
		case "policy":
			var p *Policy
			if p, err = ReadPolicy(section); err == nil {
				err = p.Check()
			}
		}
		if err != nil {
			t.Fatalf("a document that the reference refuses: %v\n%s", err, doc)
		}
	}
}
