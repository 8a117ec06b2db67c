package fuzz

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Document returns a policy document with the two sections, as JSON, and whether there is one that says it: text that
// is not UTF-8 cannot be written down. A nil section is left out.
func Document(f *Filter, p *Policy) (string, bool) {
	var parts []string
	parts = append(parts, `"version": 1`)
	if f != nil {
		parts = append(parts, `"filter": `+f.Text())
	}
	if p != nil {
		parts = append(parts, `"policy": `+p.Text())
	}
	text := "{" + strings.Join(parts, ", ") + "}"
	return text, utf8.ValidString(text) && !strings.Contains(text, notUTF8)
}

// notUTF8 stands in a document for a string that cannot be written. No definition holds it.
const notUTF8 = `"\u0000not UTF-8"`

// quote returns s as a JSON string.
func quote(s string) string {
	if !utf8.ValidString(s) {
		return notUTF8
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can always be written
	}
	return string(text)
}

func quoteAll(list []string) string {
	var parts []string
	for _, s := range list {
		parts = append(parts, quote(s))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// jsonText returns a JSON value, the keys of objects sorted.
func jsonText(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case json.Number:
		return string(v)
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, jsonText(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var keys []string
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		var parts []string
		for _, k := range keys {
			parts = append(parts, quote(k)+": "+jsonText(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	}
	panic(fmt.Sprintf("%T is no JSON value", v))
}

// Text returns the section filter of a document.
func (f *Filter) Text() string {
	var parts []string
	if len(f.Include) > 0 {
		parts = append(parts, `"include": `+rulesText(f.Include))
	}
	if len(f.Exclude) > 0 {
		parts = append(parts, `"exclude": `+rulesText(f.Exclude))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Text returns the section policy of a document, with the options at their defaults left out.
func (p *Policy) Text() string {
	if p.AllowAll {
		return `{"allow_all": true}`
	}
	var parts []string
	if p.Scope != nil {
		var kinds []string
		for _, k := range p.Scope {
			kinds = append(kinds, string(k)+"s")
		}
		parts = append(parts, `"scope": `+quoteAll(kinds))
	}
	if p.Default != "" {
		parts = append(parts, `"default": `+quote(p.Default))
	}
	if p.NoPins {
		parts = append(parts, `"pin_tools": false`)
	}
	if p.AllowNewTools {
		parts = append(parts, `"allow_new_tools": true`)
	}
	if text := p.Trusted.text(); text != "" {
		parts = append(parts, `"trusted": `+text)
	}
	for _, list := range []struct {
		name  string
		rules []Rule
	}{{"deny", p.Deny}, {"ask", p.Ask}, {"allow", p.Allow}} {
		if len(list.rules) > 0 {
			parts = append(parts, quote(list.name)+": "+rulesText(list.rules))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (t Trust) text() string {
	switch {
	case t.All:
		return "true"
	case len(t.Off) == 0 && len(t.IDs) == 0:
		return ""
	case len(t.Off) == 0:
		return quoteAll(t.IDs)
	}
	var parts []string
	for _, id := range t.IDs {
		parts = append(parts, quote(id)+": true")
	}
	for _, id := range t.Off {
		parts = append(parts, quote(id)+": false")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func rulesText(rules []Rule) string {
	var parts []string
	for _, r := range rules {
		parts = append(parts, r.Document())
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Document returns the rule as a document writes it, as JSON.
func (r Rule) Document() string {
	switch r.Form {
	case Pattern:
		return quote(r.Text)
	case Regexp:
		text := fmt.Sprintf(`{"server": %s, "regexp": %s}`, quote(r.Server), quote(r.Text))
		if r.Kind != Tool {
			text = fmt.Sprintf(`{%s: %s}`, quote(string(r.Kind)), text)
		}
		return text
	case Predicate:
		return fmt.Sprintf(`{"predicate": %s}`, quote(r.Text))
	case Annotation:
		return fmt.Sprintf(`{"annotation": {%s: %t}}`, quote(r.Text), r.Want)
	case Args:
		return `{"args": ` + keysText(r.Keys) + `}`
	case Attribute:
		return `{"attribute": ` + keysText(r.Keys) + `}`
	case Tainted:
		if r.Ignore == nil {
			return `{"tainted": {}}`
		}
		return fmt.Sprintf(`{"tainted": {"ignore": %s}}`, quoteAll(r.Ignore))
	case All:
		return `{"all": ` + rulesText(r.Rules) + `}`
	case Named:
		text := fmt.Sprintf(`{"id": %s, "rule": %s`, quote(r.ID), r.Rules[0].Document())
		if r.Message != "" {
			text += `, "message": ` + quote(r.Message)
		}
		return text + "}"
	}
	panic("unknown form " + string(r.Form))
}

func keysText(keys []Key) string {
	var parts []string
	for _, k := range keys {
		parts = append(parts, quote(k.Key)+": "+condsText(k.Conds))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func condsText(conds []Cond) string {
	var parts []string
	for _, c := range conds {
		value := ""
		if c.Op == "each" || c.Op == "any" {
			value = condsText(c.Conds)
		} else {
			value = jsonText(c.Value)
		}
		parts = append(parts, quote(c.Op)+": "+value)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
