package fuzz

import (
	"encoding/json"
	"strings"
)

// This file makes requests that conditions hold of, or nearly: random arguments hit a random condition far too
// rarely for a comparison to mean anything.

// satisfy makes the request one of which some of the args and attribute rules hold.
func (g *Gen) satisfy(rules []Rule, q *Request) {
	for _, r := range rules {
		switch r.Form {
		case All, Named:
			g.satisfy(r.Rules, q)
		case Args:
			q.Args = g.satisfyKeys(r.Keys, q.Args)
		case Attribute:
			q.Attributes = g.satisfyKeys(r.Keys, q.Attributes)
		}
	}
}

func (g *Gen) satisfyKeys(keys []Key, object map[string]any) map[string]any {
	if !g.odds(60) {
		return object
	}
	if object == nil || g.odds(50) {
		object = map[string]any{}
	}
	for _, k := range keys {
		if len(k.Conds) == 0 || k.Conds[0].Op == "exists" && k.Conds[0].Value == false {
			continue
		}
		v := g.fitting(k.Conds[g.Intn(len(k.Conds))])
		if !strings.HasPrefix(k.Key, "/") {
			object[k.Key] = v
			continue
		}
		tokens := strings.Split(k.Key[1:], "/")
		for i := len(tokens) - 1; i > 0; i-- {
			if tokens[i] == "0" {
				v = []any{v}
			} else {
				v = map[string]any{unescape(tokens[i]): v}
			}
		}
		object[unescape(tokens[0])] = v
	}
	return object
}

func unescape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// fitting returns a value of which the condition holds, or nearly.
func (g *Gen) fitting(c Cond) any {
	switch c.Op {
	case "equals":
		return g.rewritten(c.Value)
	case "in":
		if list, ok := c.Value.([]any); ok && len(list) > 0 {
			return g.rewritten(pick(g, list))
		}
	case "contains":
		return []any{g.Value(1), g.rewritten(c.Value)}
	case "inside":
		if root, ok := c.Value.(string); ok {
			return root + pick(g, []string{"", "/x", `\x`, "x"})
		}
	case "regexp":
		return g.Name()
	case "outside":
		return g.Path()
	case "each", "any":
		list := []any{}
		for range 1 + g.Intn(2) {
			if len(c.Conds) > 0 {
				list = append(list, g.fitting(pick(g, c.Conds)))
			}
		}
		if g.odds(30) {
			list = append(list, g.Value(1))
		}
		return list
	}
	return g.Value(1)
}

// rewritten returns a value that equals v and may be written otherwise.
func (g *Gen) rewritten(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n := json.Number(pick(g, numbers)); equal(n, v) {
			return n
		}
	case []any:
		list := []any{}
		for _, item := range v {
			list = append(list, g.rewritten(item))
		}
		return list
	}
	return v
}
