package policyfile

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// yamlReader makes a tree of a YAML document.
type yamlReader struct {
	text     []byte
	lines    *lines
	ps       *problems
	reported map[int]int // the offset of each anchor, alias and tag that was reported, and where it ends
	end      int         // where the last one ends: what begins before it is a part of it

	looked int // how many bytes were looked at to find those ends, for tests
}

// readYAML returns the tree of the YAML document text, or nil if it has none. What is wrong goes to ps.
//
// What could be expensive is refused by a scan first. What that scan takes for an alias is masked if the document
// cannot be read because of it: in `- */delete_*` the missing quotes are one error among others, not the only one.
func readYAML(text []byte, l *lines, ps *problems) *node {
	if !checkCharacters(text, l, ps) {
		return nil
	}
	scan := scanYAML(text)
	if scan.tooDeep >= 0 {
		ps.addAt(l, scan.tooDeep, "the document nests deeper than %d", maxDepth)
		return nil
	}
	if scan.directive >= 0 {
		ps.addAt(l, scan.directive, "YAML directives are not supported (remove the line)")
		return nil
	}
	r := &yamlReader{text: text, lines: l, ps: ps, reported: make(map[int]int)}
	root, err := parseYAML(text)
	masked := err != nil && len(scan.marks) > 0
	if masked {
		root, err = parseYAML(mask(text, scan.marks))
		defer func() {
			r.end = 0
			for _, off := range scan.marks {
				r.mark(off, nil)
			}
		}()
	}
	if err != nil {
		if !masked {
			syntaxError(err, text, l, ps, scan)
		}
		return nil
	}
	if root == nil || root.Kind == yaml.ScalarNode && root.Style == 0 && root.Value == "" {
		ps.addAt(l, 0, `the document is empty (it begins with "version: 1")`)
		return nil
	}
	n := new(node)
	r.convert(root, n, nil, 0)
	return n
}

// convert makes n of y.
func (r *yamlReader) convert(y *yaml.Node, n *node, at *path, depth int) {
	off := r.lines.offset(y.Line, y.Column)
	n.line, n.col = r.lines.at(off)
	if r.marked(y, off) {
		n.kind, n.text, n.bad = kindString, y.Value, true
		r.mark(off, at)
		if y.Kind == yaml.AliasNode || y.Kind == yaml.ScalarNode {
			return
		}
	}
	if y.Kind != yaml.ScalarNode {
		if depth++; depth > maxDepth {
			r.ps.add(n, nil, "the document nests deeper than %d", maxDepth)
			n.bad = true
			return
		}
	}
	switch y.Kind {
	case yaml.ScalarNode:
		r.scalar(y, n, at)
	case yaml.SequenceNode:
		n.kind, n.items = kindList, make([]node, len(y.Content))
		for i, item := range y.Content {
			r.convert(item, &n.items[i], at.at(i), depth)
		}
	case yaml.MappingNode:
		r.object(y, n, at, depth)
	default:
		n.bad = true
		r.ps.add(n, at, "this form of YAML is not supported")
	}
}

func (r *yamlReader) scalar(y *yaml.Node, n *node, at *path) {
	n.kind, n.text = kindString, y.Value
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if y.Style&quoted != 0 {
		return
	}
	n.plain = true
	var problem string
	n.kind, problem = plainScalar(y.Value)
	if n.kind == kindNull {
		n.text = ""
	}
	if problem != "" {
		n.bad = true
		r.ps.add(n, at, "%s", problem)
	}
}

func (r *yamlReader) object(y *yaml.Node, n *node, at *path, depth int) {
	size := len(y.Content) / 2
	n.kind, n.keys, n.items = kindObject, make([]node, size), make([]node, size)
	for i := range size {
		k, v := y.Content[2*i], y.Content[2*i+1]
		key := &n.keys[i]
		if k.Kind == yaml.ScalarNode && k.Style == 0 && k.Value == "<<" {
			key.line, key.col = r.lines.at(r.lines.offset(k.Line, k.Column))
			key.text, key.bad = k.Value, true
			r.ps.add(key, at, "YAML merge keys are not supported (write the keys out)")
		} else {
			r.convert(k, key, at, depth)
		}
		if key.kind != kindString && !key.bad {
			r.ps.add(key, at, "a key must be a string, not %s%s", key.describe(), key.wantString())
			key.bad = true
		}
		r.convert(v, &n.items[i], at.child(k.Value), depth)
	}
	n.checkDuplicates(r.ps, at)
}

// marked reports whether y has an anchor or a tag, or is an alias. No untagged scalar begins with the characters
// of these, but a block mapping stands where its first key stands, and a key that is not there nowhere.
func (r *yamlReader) marked(y *yaml.Node, off int) bool {
	if off >= len(r.text) || !strings.ContainsRune("&*!", rune(r.text[off])) {
		return false
	}
	switch {
	case y.Kind == yaml.AliasNode || y.Anchor != "" || y.Style&yaml.TaggedStyle != 0:
		return true
	case y.Kind == yaml.MappingNode && len(y.Content) > 0:
		k := y.Content[0]
		return k.Line != y.Line || k.Column != y.Column
	default:
		return true
	}
}

// mark reports the anchor, alias or tag at off, once, unless it is a part of the last one: `&&&` is one. Marks are
// given in the order in which they stand, so looking for where they end is one pass over the text at most.
func (r *yamlReader) mark(off int, at *path) {
	if end, ok := r.reported[off]; ok {
		r.end = max(r.end, end)
		return
	}
	if off < r.end {
		return
	}
	token := r.text[off:]
	if end := bytes.IndexFunc(token, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(",]}", c) }); end >= 0 {
		token = token[:end]
	}
	r.looked += len(token)
	r.end = off + len(token)
	r.reported[off] = r.end
	token = token[:min(len(token), maxQuoted+utf8.UTFMax)] // a message shows no more
	token = bytes.TrimSuffix(token, []byte(":"))
	problem := &EntryError{Path: at.String()}
	what := map[byte]string{'*': "an alias", '&': "an anchor", '!': "a tag"}[r.text[off]]
	problem.Err = fmt.Errorf("an unquoted %s is %s of YAML, which is not supported (to mean the text, put it in quotes: %s)",
		clip(string(token)), what, quote(string(token)))
	n := node{}
	n.line, n.col = r.lines.at(off)
	problem.Position = n.place(r.ps.file)
	r.ps.append(problem)
}
