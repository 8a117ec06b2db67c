package fuzz

import (
	"fmt"
	"slices"
)

// This file reads the two sections of a document, as JSON, into definitions. It refuses what section 6 refuses about
// their form; what the rules themselves must be is for [Filter.Check] and [Policy.Check].

// ReadFilter reads the section filter.
func ReadFilter(text string) (*Filter, error) {
	n, err := readJSON(text, 1000)
	if err != nil {
		return nil, err
	}
	f := &Filter{}
	return f, n.each(func(key string, v *node) (err error) {
		switch key {
		case "include":
			f.Include, err = v.rules()
			if err == nil && len(f.Include) == 0 {
				err = fmt.Errorf("an empty include")
			}
		case "exclude":
			f.Exclude, err = v.rules()
		default:
			err = errUnknown
		}
		return err
	})
}

// ReadPolicy reads the section policy. {"allow_all": true} stands for the policy of AllowAll.
func ReadPolicy(text string) (*Policy, error) {
	n, err := readJSON(text, 1000)
	if err != nil {
		return nil, err
	}
	p := &Policy{}
	return p, n.each(func(key string, v *node) (err error) {
		switch key {
		case "allow_all":
			p.AllowAll, err = v.boolean()
			if !p.AllowAll || len(n.keys) != 1 {
				err = fmt.Errorf("allow_all is true and stands alone")
			}
		case "scope":
			p.Scope, err = v.scope()
		case "default":
			p.Default, err = v.str()
			if p.Default == "" {
				err = fmt.Errorf("not a default")
			}
		case "pin_tools":
			var pin bool
			pin, err = v.boolean()
			p.NoPins = !pin
		case "allow_new_tools":
			p.AllowNewTools, err = v.boolean()
		case "trusted":
			p.Trusted, err = v.trust()
		case "deny":
			p.Deny, err = v.rules()
		case "ask":
			p.Ask, err = v.rules()
		case "allow":
			p.Allow, err = v.rules()
		default:
			err = errUnknown
		}
		return err
	})
}

var errUnknown = fmt.Errorf("unknown key")

// each calls f for every member of an object.
func (n *node) each(f func(key string, v *node) error) error {
	if n.kind != 'o' {
		return fmt.Errorf("not an object")
	}
	for i, key := range n.keys {
		if err := f(key, n.items[i]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// members returns the members of an object that has all of the required keys and, at the most, the optional ones.
func (n *node) members(required []string, optional ...string) (map[string]*node, error) {
	m := map[string]*node{}
	err := n.each(func(key string, v *node) error {
		if !slices.Contains(required, key) && !slices.Contains(optional, key) {
			return errUnknown
		}
		m[key] = v
		return nil
	})
	for _, key := range required {
		if err == nil && m[key] == nil {
			err = fmt.Errorf("key %q is missing", key)
		}
	}
	return m, err
}

func (n *node) boolean() (bool, error) {
	if n == nil || n.kind != 't' {
		return false, fmt.Errorf("not a boolean")
	}
	return n.yes, nil
}

func (n *node) str() (string, error) {
	if n == nil || n.kind != 's' {
		return "", fmt.Errorf("not a string")
	}
	return n.text, nil
}

func (n *node) strs() ([]string, error) {
	if n.kind != 'a' {
		return nil, fmt.Errorf("not a list")
	}
	list := []string{}
	for _, item := range n.items {
		s, err := item.str()
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (n *node) scope() ([]Kind, error) {
	words, err := n.strs()
	if err == nil && len(words) == 0 {
		err = fmt.Errorf("an empty scope")
	}
	var kinds []Kind
	for _, word := range words {
		switch word {
		case "tools":
			kinds = append(kinds, Tool)
		case "resources":
			kinds = append(kinds, Resource)
		case "prompts":
			kinds = append(kinds, Prompt)
		default:
			return nil, fmt.Errorf("unknown kind %q", word)
		}
	}
	return kinds, err
}

func (n *node) trust() (Trust, error) {
	var t Trust
	var err error
	switch n.kind {
	case 't':
		t.All = n.yes
	case 'a':
		t.IDs, err = n.strs()
	default:
		err = n.each(func(id string, v *node) error {
			on, err := v.boolean()
			if on {
				t.IDs = append(t.IDs, id)
			} else {
				t.Off = append(t.Off, id)
			}
			return err
		})
	}
	return t, err
}

func (n *node) rules() ([]Rule, error) {
	if n.kind != 'a' {
		return nil, fmt.Errorf("not a list")
	}
	var rules []Rule
	for i, item := range n.items {
		r, err := item.rule()
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func (n *node) rule() (Rule, error) {
	if n.kind == 's' {
		return Rule{Form: Pattern, Text: n.text}, nil
	}
	if n.kind != 'o' || len(n.keys) == 0 {
		return Rule{}, fmt.Errorf("not a rule")
	}
	has := func(key string) bool { return slices.Contains(n.keys, key) }
	only := func() *node { return n.items[0] }
	switch {
	case has("id") || has("rule"):
		return n.named()
	case has("server") || has("regexp"):
		return n.regexp(Tool)
	case len(n.keys) != 1:
		return Rule{}, fmt.Errorf("not a rule")
	case has("resource"):
		return only().regexp(Resource)
	case has("prompt"):
		return only().regexp(Prompt)
	case has("predicate"):
		name, err := only().str()
		return Rule{Form: Predicate, Text: name}, err
	case has("annotation"):
		r := Rule{Form: Annotation}
		if len(only().keys) != 1 {
			return r, fmt.Errorf("annotation: one key")
		}
		return r, only().each(func(key string, v *node) (err error) {
			r.Text = key
			r.Want, err = v.boolean()
			return err
		})
	case has("args"):
		return only().keysRule(Args)
	case has("attribute"):
		return only().keysRule(Attribute)
	case has("tainted"):
		m, err := only().members(nil, "ignore")
		r := Rule{Form: Tainted}
		if err == nil && m["ignore"] != nil {
			r.Ignore, err = m["ignore"].strs()
		}
		return r, err
	case has("all"):
		rules, err := only().rules()
		return Rule{Form: All, Rules: rules}, err
	}
	return Rule{}, errUnknown
}

func (n *node) named() (Rule, error) {
	r := Rule{Form: Named}
	m, err := n.members([]string{"id", "rule"}, "message")
	if err != nil {
		return r, err
	}
	if r.ID, err = m["id"].str(); err != nil {
		return r, err
	}
	if m["message"] != nil {
		if r.Message, err = m["message"].str(); err != nil {
			return r, err
		}
	}
	member, err := m["rule"].rule()
	r.Rules = []Rule{member}
	return r, err
}

func (n *node) regexp(kind Kind) (Rule, error) {
	r := Rule{Form: Regexp, Kind: kind}
	m, err := n.members([]string{"server", "regexp"})
	if err != nil {
		return r, err
	}
	if r.Server, err = m["server"].str(); err != nil {
		return r, err
	}
	r.Text, err = m["regexp"].str()
	return r, err
}

func (n *node) keysRule(form Form) (Rule, error) {
	r := Rule{Form: form}
	return r, n.each(func(key string, v *node) error {
		conds, err := v.conds()
		r.Keys = append(r.Keys, Key{Key: key, Conds: conds})
		return err
	})
}

func (n *node) conds() ([]Cond, error) {
	var conds []Cond
	err := n.each(func(op string, v *node) error {
		c := Cond{Op: op}
		var err error
		if op == "each" || op == "any" {
			c.Conds, err = v.conds()
		} else {
			c.Value = v.plain()
		}
		conds = append(conds, c)
		return err
	})
	return conds, err
}
