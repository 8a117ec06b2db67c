package policyfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/penstock-mcp/penstock/engine"
)

// FuzzParse: no bytes make Parse or Compile panic; an error has entries with places; and a document that is taken
// means the same when it is written as JSON, as block YAML and as flow YAML.
func FuzzParse(f *testing.F) {
	for _, path := range []string{"testdata/good.txtar", "testdata/bad.txtar", "testdata/beyond.txtar"} {
		for _, s := range readSections(f, path) {
			if !strings.HasSuffix(s.name, ".want") {
				f.Add([]byte(s.body))
			}
		}
	}
	for _, s := range []string{"a: *b\n", "? [a]\n: !x &y {b: c}\n", "%TAG ! x\n---\n", "a: |2-\n   b\n c\n", "{\"a\": \"\\ud83d\\ude00\\/\"}", "- - - 'a''b'\n", "\ufeff{}",
		"'a\n\n b': \"c\\\n d\"\n", "a:\r  - b\r", "[[[[", "a: &b\n  <<: *b\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkScan(t, data)
		checkNotations(t, data)

		doc, err := Parse(data, Options{File: "p", Predicates: testPredicates})
		if err != nil {
			require.Nil(t, doc)
			requireFuzzError(t, err)
			return
		}
		filter, policy, err := doc.Compile()
		if err != nil {
			require.Nil(t, filter)
			require.Nil(t, policy)
			requireFuzzError(t, err)
		}

		ps := &problems{}
		root := readTree(data, ps)
		require.Empty(t, ps.entries)
		for notation, text := range map[string]string{"p.json": asJSON(root), "flow": "# YAML\n" + asFlow(root), "block": asBlock(root)} {
			again, err := Parse([]byte(text), Options{File: notation, Predicates: testPredicates})
			require.NoError(t, err, "%s:\n%s", notation, text)
			require.Equal(t, ruleTexts(doc), ruleTexts(again), "%s:\n%s", notation, text)
		}
	})
}

func requireFuzzError(t *testing.T, err error) {
	var all *Error
	require.ErrorAs(t, err, &all)
	require.NotEmpty(t, all.Entries)
	require.NotEmpty(t, err.Error())
	for _, e := range all.Entries {
		require.False(t, errors.Is(e.Err, errReported))
	}
}

// checkScan holds scanYAML against the parser: it may miss, but what it says of a document that the parser reads is
// true.
func checkScan(t *testing.T, data []byte) {
	ps := &problems{}
	l := newLines(data)
	if !checkEncoding(data, l, ps) || !checkCharacters(data, l, ps) {
		return
	}
	scan := scanYAML(data)
	root, err := parseYAML(data)
	if err != nil || root == nil {
		return
	}
	depth, marked, plain := survey(root)
	if scan.tooDeep >= 0 {
		require.Greater(t, depth, maxDepth, "%q", data)
		return
	}
	require.Less(t, scan.open, 0, "%q", data)
	if !marked && scan.directive < 0 {
		for _, off := range scan.marks {
			require.Equal(t, byte('!'), data[off], "%q", data) // the tag without a name leaves no trace in the tree
		}
	}
	for _, text := range plain {
		requirePlainScalar(t, text)
	}
}

// survey returns how deep a tree is, whether it has anchors, aliases or tags, and its plain scalars.
func survey(y *yaml.Node) (depth int, marked bool, plain []string) {
	marked = y.Kind == yaml.AliasNode || y.Anchor != "" || y.Style&yaml.TaggedStyle != 0
	if y.Kind == yaml.ScalarNode && y.Style == 0 {
		plain = append(plain, y.Value)
	}
	for _, c := range y.Content {
		d, m, p := survey(c)
		depth, marked, plain = max(depth, d), marked || m, append(plain, p...)
	}
	if y.Kind == yaml.MappingNode || y.Kind == yaml.SequenceNode {
		depth++
	}
	return depth, marked, plain
}

// checkNotations reads what is JSON as YAML, too: if both read it, they read the same, at the same places.
func checkNotations(t *testing.T, data []byte) {
	l := newLines(data)
	asJSON, asYAML := &problems{}, &problems{}
	if !checkEncoding(data, l, asJSON) {
		return
	}
	j, notJSON := readJSON(data, l, asJSON)
	if notJSON != nil || j == nil {
		return
	}
	y := readYAML(data, newLines(data), asYAML)
	if y == nil {
		return
	}
	requireSameTree(t, j, y, true)
	require.Len(t, asYAML.entries, len(asJSON.entries), "%q", data)
}

func requireSameTree(t *testing.T, a, b *node, places bool) {
	require.Equal(t, a.kind, b.kind)
	require.Equal(t, a.text, b.text)
	if places {
		require.Equal(t, [2]int32{a.line, a.col}, [2]int32{b.line, b.col})
	}
	require.Len(t, b.keys, len(a.keys))
	require.Len(t, b.items, len(a.items))
	for i := range a.keys {
		requireSameTree(t, &a.keys[i], &b.keys[i], places)
	}
	for i := range a.items {
		requireSameTree(t, &a.items[i], &b.items[i], places)
	}
}

// ruleTexts returns everything of a document but positions.
func ruleTexts(d *Document) []string {
	out := []string{fmt.Sprint(d.HasFilter, d.HasPolicy, d.Policy.NoMatch, d.Policy.Scope, d.Policy.DisablePins,
		d.Policy.AllowNewTools, d.Policy.TrustAll, len(d.Policy.Trusted)), strings.Join(d.Policy.Trusted, " ")}
	for _, rules := range [][]engine.Rule{d.Filter.Include, d.Filter.Exclude, d.Policy.Deny, d.Policy.Ask, d.Policy.Allow} {
		out = append(out, fmt.Sprint(len(rules)))
		for _, r := range rules {
			out = append(out, r.String())
		}
	}
	return out
}

// asJSON writes a tree as JSON.
func asJSON(n *node) string {
	switch n.kind {
	case kindList, kindObject:
		var parts []string
		for i := range n.items {
			part := asJSON(&n.items[i])
			if n.kind == kindObject {
				part = asJSON(&n.keys[i]) + ": " + part
			}
			parts = append(parts, part)
		}
		if n.kind == kindList {
			return "[" + strings.Join(parts, ", ") + "]"
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case kindString:
		text, _ := json.Marshal(n.text)
		return string(text)
	case kindNull:
		return "null"
	default:
		return n.text
	}
}

// asFlow writes a tree as YAML in flow style, with all characters escaped that could be in the way.
func asFlow(n *node) string {
	switch n.kind {
	case kindList, kindObject:
		var b strings.Builder
		open, end := "[", "]"
		if n.kind == kindObject {
			open, end = "{", "}"
		}
		b.WriteString(open)
		for i := range n.items {
			if n.kind == kindObject {
				fmt.Fprintf(&b, "? %s\n  : ", asFlow(&n.keys[i]))
			}
			b.WriteString(asFlow(&n.items[i]) + " ,")
		}
		return b.String() + end
	case kindString:
		var b bytes.Buffer
		for _, r := range n.text {
			if r == '"' || r == '\\' || r < ' ' || r > '~' {
				fmt.Fprintf(&b, `\U%08X`, r)
			} else {
				b.WriteRune(r)
			}
		}
		return `"` + b.String() + `"`
	default:
		return asJSON(n)
	}
}

// asBlock writes a tree as YAML in block style.
func asBlock(n *node) string {
	var b strings.Builder
	writeBlock(&b, n, 0)
	return b.String()
}

func writeBlock(b *strings.Builder, n *node, indent int) {
	if n.kind != kindList && n.kind != kindObject || len(n.items) == 0 {
		b.WriteString(" " + asFlow(n) + "\n")
		return
	}
	if indent > 0 {
		b.WriteString("\n")
	}
	for i := range n.items {
		b.WriteString(strings.Repeat(" ", indent))
		if n.kind == kindList {
			b.WriteString("-")
		} else {
			b.WriteString("? " + asFlow(&n.keys[i]) + "\n" + strings.Repeat(" ", indent) + ":")
		}
		writeBlock(b, &n.items[i], indent+1)
	}
}
