package policyfile

import (
	"fmt"
	"slices"

	"github.com/penstock-mcp/penstock/engine"
)

// checker turns the tree of a document into options of the engine. It reports what has the wrong form; what the
// engine knows better, such as whether a pattern is one, is left to the engine.
type checker struct {
	*problems
	predicates Predicates
	doc        *Document
	work       int // what the regular expressions took of maxDocumentWork so far
}

// option is one key of an object and what reads its value.
type option struct {
	key  string
	read func(n *node, at *path)
}

// object reads an object that has no other keys than the options. It returns whether n is an object at all.
func (c *checker) object(n *node, at *path, what string, options []option) bool {
	if n.bad {
		return false
	}
	if n.kind != kindObject {
		c.add(n, at, "want %s, not %s", what, n.describe())
		return false
	}
	for i := range n.keys {
		k := &n.keys[i]
		if k.bad {
			continue
		}
		o := slices.IndexFunc(options, func(o option) bool { return o.key == k.text })
		if o < 0 {
			words := make([]string, len(options))
			for i := range options {
				words[i] = options[i].key
			}
			c.unknownKey(k, at, words)
			continue
		}
		options[o].read(&n.items[i], at.child(k.text))
	}
	return true
}

// unknownKey reports a key that is none of words.
func (c *checker) unknownKey(k *node, at *path, words []string) {
	hint := suggest(k.text, words)
	if hint == "" && len(words) <= 12 {
		hint = " (the keys here are " + list(words, "and") + ")"
	}
	c.add(k, at, "unknown key %s%s", quote(k.text), hint)
}

// find returns the value under key of the object n, or nil.
func (n *node) find(key string) *node {
	for i := range n.keys {
		if n.keys[i].text == key && !n.keys[i].bad {
			return &n.items[i]
		}
	}
	return nil
}

// document reads the whole document.
func (c *checker) document(root *node) {
	ok := c.object(root, nil, "a mapping that begins with version: 1", []option{
		{"version", c.version},
		{"filter", c.filter},
		{"policy", c.policy},
	})
	if ok && root.find("version") == nil && !root.spoiledKey("version") {
		c.add(root, nil, `the key "version" is missing (write version: 1)`)
	}
}

// spoiledKey reports whether a key of the object n that was reported could have been key.
func (n *node) spoiledKey(key string) bool {
	return slices.ContainsFunc(n.keys, func(k node) bool { return k.bad && k.text == key })
}

func (c *checker) version(n *node, at *path) {
	switch {
	case n.bad:
	case n.kind != kindNumber:
		c.add(n, at, "want the number 1, not %s", n.describe())
	case n.text != "1":
		c.add(n, at, "version %s is not supported (this program reads version 1)", clip(n.text))
	}
}

func (c *checker) filter(n *node, at *path) {
	c.doc.HasFilter = true
	o := &c.doc.Filter
	c.object(n, at, `a mapping with "include" and "exclude"`, []option{
		{"include", func(n *node, at *path) {
			o.Include = c.rules(n, at, true)
			if !n.bad && n.kind == kindList && len(n.items) == 0 {
				c.add(n, at, `an empty list would show every tool (leave include out to show all, or exclude "*" to hide all)`)
			}
		}},
		{"exclude", func(n *node, at *path) { o.Exclude = c.rules(n, at, true) }},
	})
}

func (c *checker) policy(n *node, at *path) {
	c.doc.HasPolicy = true
	o := &c.doc.Policy
	c.object(n, at, "a mapping", []option{
		{"deny", func(n *node, at *path) { o.Deny = c.rules(n, at, false) }},
		{"ask", func(n *node, at *path) { o.Ask = c.rules(n, at, false) }},
		{"allow", func(n *node, at *path) { o.Allow = c.rules(n, at, false) }},
		{"default", func(n *node, at *path) { o.NoMatch = c.noMatch(n, at) }},
		{"scope", func(n *node, at *path) { o.Scope = c.scope(n, at) }},
		{"pin_tools", func(n *node, at *path) { o.DisablePins = !c.boolean(n, at, true) }},
		{"allow_new_tools", func(n *node, at *path) { o.AllowNewTools = c.boolean(n, at, false) }},
		{"trusted", c.trusted},
	})
}

// boolean reads true or false; otherwise is what it returns for anything else, which is reported.
func (c *checker) boolean(n *node, at *path, otherwise bool) bool {
	switch {
	case n.bad:
		return otherwise
	case n.kind != kindBool:
		c.add(n, at, "want true or false, not %s", n.describe())
		return otherwise
	default:
		return n.text == "true"
	}
}

// str reads a string, described by what; it reports everything else.
func (c *checker) str(n *node, at *path, what string) (string, bool) {
	switch {
	case n.bad:
		return "", false
	case n.kind != kindString:
		c.add(n, at, "want %s, not %s%s", what, n.describe(), n.wantString())
		return "", false
	default:
		return n.text, true
	}
}

// word reads one of a few words.
func (c *checker) word(n *node, at *path, words []string) (string, bool) {
	switch {
	case n.bad:
		return "", false
	case n.kind != kindString || !slices.Contains(words, n.text):
		c.add(n, at, "want %s, not %s%s", list(words, "or"), n.describe(), suggest(n.text, words))
		return "", false
	default:
		return n.text, true
	}
}

// strs reads a list of strings, each with the node it stands at.
func (c *checker) strs(n *node, at *path, what string) (texts []string, from []*node) {
	if n.bad {
		return nil, nil
	}
	if n.kind != kindList {
		c.add(n, at, "want a list of %ss, not %s", what, n.describe())
		return nil, nil
	}
	for i := range n.items {
		if s, ok := c.str(&n.items[i], at.at(i), "a "+what); ok {
			texts, from = append(texts, s), append(from, &n.items[i])
		}
	}
	return texts, from
}

func (c *checker) noMatch(n *node, at *path) engine.NoMatch {
	if w, _ := c.word(n, at, []string{"ask", "deny"}); w == "ask" {
		return engine.AskNoMatch
	}
	return engine.DenyNoMatch
}

// scope reads the list of kinds. After an error it returns every kind, so that no rule is blamed for a scope that was
// meant otherwise.
func (c *checker) scope(n *node, at *path) []engine.Kind {
	every := []engine.Kind{engine.Tools, engine.Resources, engine.Prompts}
	switch {
	case n.bad:
		return every
	case n.kind != kindList:
		c.add(n, at, `want a list of "tools", "resources" and "prompts", not %s`, n.describe())
		return every
	case len(n.items) == 0:
		c.add(n, at, "an empty list would be about nothing (leave scope out for tools)")
		return every
	}
	var scope []engine.Kind
	ok := true
	for i := range n.items {
		w, good := c.word(&n.items[i], at.at(i), scopeWords)
		k := engine.Kind(slices.Index(scopeWords, w))
		switch {
		case !good:
			ok = false
		case slices.Contains(scope, k):
			c.add(&n.items[i], at.at(i), "%s stands here twice", quote(w))
		default:
			scope = append(scope, k)
		}
	}
	if !ok {
		return every
	}
	return scope
}

// scopeWords are the words for the kinds, in their order.
var scopeWords = []string{engine.Tools.String(), engine.Resources.String(), engine.Prompts.String()}

// trusted reads false, true, a list of ids or a map of id to bool.
func (c *checker) trusted(n *node, at *path) {
	o := &c.doc.Policy
	switch {
	case n.bad:
	case n.kind == kindBool:
		o.TrustAll = n.text == "true"
	case n.kind == kindList:
		o.Trusted, c.doc.trustedAt = c.strs(n, at, "server id")
	case n.kind == kindObject:
		for i := range n.keys {
			k := &n.keys[i]
			if k.bad {
				continue
			}
			trust := c.boolean(&n.items[i], at.child(k.text), false)
			if err := engine.CheckServerID(k.text); err != nil {
				c.addErr(k.place(c.file), at.child(k.text), err)
			} else if trust {
				o.Trusted, c.doc.trustedAt = append(o.Trusted, k.text), append(c.doc.trustedAt, k)
			}
		}
	default:
		c.add(n, at, "want true, false, a list of server ids or a mapping of server id to true or false, not %s%s",
			n.describe(), trustedHint(n))
	}
}

func trustedHint(n *node) string {
	if n.kind == kindString {
		return fmt.Sprintf(" (write [%s])", quote(n.text))
	}
	return ""
}
