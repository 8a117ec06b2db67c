package fuzz

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
)

// FuzzFingerprint compares definitions by their fingerprints: raw with other, and raw with rewritings of itself that
// mean the same, and with copies of itself in which one value was changed.
func FuzzFingerprint(f *testing.F) {
	for i, raw := range raws {
		f.Add(raw, raws[(i+1)%len(raws)], []byte{byte(i), 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9})
	}
	for _, seed := range []string{strings.Repeat("[", 128) + strings.Repeat("]", 128), strings.Repeat("[", 129) + strings.Repeat("]", 129),
		strings.Repeat(`{"a":`, 128) + "1" + strings.Repeat("}", 128), `{"a":1.7976931348623157e308}`, `{"a":5e-324,"b":2.5e-324}`, `{"a":-0.0}`, "\ufeff{}",
		`{"\u0000":"\b\f\/"}`, `{"a":1e23,"b":100000000000000000000000}`, `{"a":0e999999999999999999999}`, `{"a":1e+01, "b":1E1}`, `[01]`, "0." + strings.Repeat("0", 20000) + "1e20001", "1" + strings.Repeat("0", 20000) + "e-20000", `"\ud83d\ude0"`} {
		f.Add(seed, seed, []byte{1, 2, 3})
	}
	f.Fuzz(tryFingerprint)
}

func tryFingerprint(t *testing.T, raw, other string, data []byte) {
	mine, err := Fingerprint(raw)
	theirs, theirErr := engine.ComputeFingerprint([]byte(raw))
	if !sameRefusal(t, raw, err, theirErr) {
		if theirs != "" {
			t.Fatalf("fingerprint %q beside an error\n%s", theirs, raw)
		}
		return
	}
	compare := func(other string) {
		x, err := Fingerprint(other)
		y, theirErr := engine.ComputeFingerprint([]byte(other))
		if sameRefusal(t, other, err, theirErr) && (x == mine) != (y == theirs) {
			t.Fatalf("same by the reference: %t, by the engine: %t\n%s\n%s", x == mine, y == theirs, raw, other)
		}
	}
	compare(other)
	g := FromBytes(data)
	n, err := readJSON(raw, 128)
	if err != nil {
		t.Fatal(err)
	}
	same := n.rewrite(g)
	if again, err := engine.ComputeFingerprint([]byte(same)); err != nil || again != theirs {
		t.Fatalf("another writing gets %q, %v instead of %q\n%s\n%s", again, err, theirs, raw, same)
	}
	n.change(g)
	changed := n.rewrite(g)
	compare(changed)
	if x, err := Fingerprint(changed); err == nil && x == mine {
		t.Fatalf("a changed value is no change\n%s\n%s", raw, changed)
	}
}

// rewrite returns another text of the same value: other order, white space, escapes and numerals.
func (n *node) rewrite(g *Gen) string {
	space := func() string { return pick(g, []string{"", " ", "\n\t", "\r"}) }
	text := func(s string) string {
		var b strings.Builder
		b.WriteByte('"')
		for _, r := range s {
			switch {
			case r > 0xffff && g.odds(50):
				fmt.Fprintf(&b, `\u%04X\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
			case r < 0x20 || r == '"' || r == '\\' || r <= 0xffff && g.odds(20):
				fmt.Fprintf(&b, `\u%04x`, r)
			default:
				b.WriteRune(r)
			}
		}
		return b.String() + `"`
	}
	var parts []string
	for i, item := range n.items {
		part := space() + item.rewrite(g) + space()
		if n.kind == 'o' {
			part = space() + text(n.keys[i]) + space() + ":" + part
		}
		parts = append(parts, part)
	}
	switch n.kind {
	case 'o':
		for i := len(parts) - 1; i > 0; i-- {
			j := g.Intn(i + 1)
			parts[i], parts[j] = parts[j], parts[i]
		}
		return "{" + strings.Join(parts, ",") + "}"
	case 'a':
		return "[" + strings.Join(parts, ",") + "]"
	case 's':
		return text(n.text)
	case '0':
		return n.renumber(g)
	}
	return string(n.plainText())
}

func (n *node) plainText() []byte {
	text, err := json.Marshal(n.plain())
	if err != nil {
		panic(err)
	}
	return text
}

// renumber returns another numeral of the same number.
func (n *node) renumber(g *Gen) string {
	d := readDecimal(n.text)
	if d.digits == "" {
		return pick(g, []string{"0", "-0", "0.0", "0e5", "-0.00E-7"})
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	return pick(g, []string{
		n.text,
		sign + d.digits + "e" + d.exp,
		sign + d.digits + ".00E" + d.exp,
	})
}

// change changes one value inside n.
func (n *node) change(g *Gen) {
	if len(n.items) > 0 && !g.odds(30) {
		n.items[g.Intn(len(n.items))].change(g)
		return
	}
	switch n.kind {
	case 'n':
		*n = node{kind: 't'}
	case 't':
		n.yes = !n.yes
	case 's':
		n.text = pick(g, []string{n.text + " ", n.text + "\x00", "x" + n.text})
	case '0':
		if d := readDecimal(n.text); d.digits == "" {
			n.text = "1"
		} else {
			*n = node{kind: 's', text: n.text}
		}
	case 'a':
		n.items = append(n.items, &node{kind: 'n'})
	case 'o':
		key := "added"
		for {
			taken := false
			for _, k := range n.keys {
				taken = taken || k == key
			}
			if !taken {
				break
			}
			key += "+"
		}
		n.keys, n.items = append(n.keys, key), append(n.items, &node{kind: 'n'})
	}
}

// FuzzPaths holds any root against any path.
func FuzzPaths(f *testing.F) {
	g := FromSeed(5)
	for range 60 {
		f.Add(g.Root(), g.Path())
	}
	for _, root := range append(roots, badRoots...) {
		f.Add(root, "/data/x")
		f.Add(root, `C:\data\x`)
		f.Add(root, root)
	}
	f.Add(`C:\\`, `C:\x`)
	f.Add(`C:\K`, "C:\\\u212a\\x")
	f.Add(`C:\straße`, `C:\STRASSE`)
	f.Add("C:\\\U00010400", "C:\\\U00010428")
	f.Add(`C:\i`, `C:\İ`)
	f.Fuzz(tryPath)
}

func tryPath(t *testing.T, root, path string) {
	for _, op := range []string{"inside", "outside"} {
		tryConds(t, []Key{{Key: "path", Conds: []Cond{{Op: op, Value: root}}}}, map[string]any{"path": path}, &tally{})
	}
}

// FuzzConditions holds conditions against arguments and attributes.
func FuzzConditions(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { tryConditions(t, FromBytes(data), &tally{}) })
}

func tryConditions(t *testing.T, g *Gen, count *tally) {
	keys := g.keys()
	for range 3 {
		object := g.object()
		tryConds(t, keys, g.satisfyKeys(keys, object), count)
	}
}

// tryConds asks about one args rule and one attribute rule in every list.
func tryConds(t *testing.T, keys []Key, object map[string]any, count *tally) {
	for _, form := range []Form{Args, Attribute} {
		rules := []Rule{{Form: form, Keys: keys}}
		for _, p := range []*Policy{{Deny: rules}, {Ask: rules}, {Allow: rules, AllowNewTools: true}} {
			compiled, err := p.Compile()
			if !sameRefusal(t, fmt.Sprintf("%+q", p.Text()), p.Check(), err) {
				count.add("refused")
				return
			}
			c := Case{Policy: p, Target: Target{Kind: Tool, Server: "fs", Name: "x"}, Request: Request{HasApprover: true, Args: object, Attributes: object}}
			want, got := c.AskReference(), c.AskEngine(nil, compiled)
			if want != got {
				complain(t, c, "the condition", want, got)
			}
			count.add("%s: %s, %s, failed %t", form, want.Source, want.Reason, want.Failed)
			if p.Deny != nil {
				for _, k := range keys {
					for _, cond := range k.Conds {
						count.add("%s: %s", cond.Op, want.Reason)
					}
				}
			}
		}
	}
}

// FuzzNumbers compares two numerals, as what a condition wants and what a call brings.
func FuzzNumbers(f *testing.F) {
	for i, n := range numbers {
		f.Add(n, numbers[(i*7+1)%len(numbers)])
		f.Add(n, n)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, n := range []string{a, b} {
			if v, err := readJSON(n, 1); err != nil || v.kind != '0' || v.end-v.start != len(n) {
				return
			}
		}
		for _, c := range []Cond{{Op: "equals", Value: json.Number(a)}, {Op: "in", Value: []any{"x", json.Number(a)}}, {Op: "any", Conds: []Cond{{Op: "equals", Value: json.Number(a)}}}} {
			tryConds(t, []Key{{Key: "n", Conds: []Cond{c}}}, map[string]any{"n": json.Number(b)}, &tally{})
			tryConds(t, []Key{{Key: "n", Conds: []Cond{c}}}, map[string]any{"n": []any{json.Number(b)}}, &tally{})
		}
	})
}
