package policyfile

import (
	"slices"

	"github.com/penstock-mcp/penstock/engine"
)

// opWords are the tests a condition can make, in the order in which they are documented.
var opWords = []string{"equals", "in", "regexp", "contains", "inside", "outside", "exists", "each", "any"}

// lookups reads {KEY: {OP: VALUE}}: one rule for each key, joined.
func (c *checker) lookups(n *node, at *path, what string, make func(string, ...engine.Condition) engine.Rule) engine.Rule {
	switch {
	case n.bad:
		return c.spoiled(n)
	case n.kind != kindObject:
		c.add(n, at, "want a mapping such as {path: {inside: /data}}, not %s", n.describe())
		return c.spoiled(n)
	case len(n.keys) == 0:
		c.add(n, at, "an empty mapping would match everything (name %s)", what)
		return c.spoiled(n)
	}
	var rules []engine.Rule
	for i := range n.keys {
		k := &n.keys[i]
		conds, ok := c.conditions(&n.items[i], at.child(k.text))
		if k.bad || !ok {
			rules = append(rules, c.spoiled(k))
			continue
		}
		rules = append(rules, make(k.text, conds...).At(k.place(c.file)))
	}
	if len(rules) == 1 {
		return rules[0]
	}
	return engine.All(rules...)
}

// conditions reads {OP: VALUE}.
func (c *checker) conditions(n *node, at *path) ([]engine.Condition, bool) {
	switch {
	case n.bad:
		return nil, false
	case n.kind != kindObject:
		c.add(n, at, "want a mapping such as {equals: VALUE}, not %s%s", n.describe(), equalsHint(n))
		return nil, false
	case len(n.keys) == 0:
		c.add(n, at, "an empty mapping would always hold (name a condition, such as exists: true)")
		return nil, false
	}
	conds, ok := make([]engine.Condition, 0, len(n.keys)), true
	for i := range n.keys {
		k := &n.keys[i]
		switch {
		case k.bad:
			ok = false
		case !slices.Contains(opWords, k.text):
			c.unknownKey(k, at, opWords)
			ok = false
		default:
			cond, good := c.condition(k.text, &n.items[i], at.child(k.text))
			conds, ok = append(conds, cond), ok && good
		}
	}
	return conds, ok
}

func equalsHint(n *node) string {
	if n.kind == kindList {
		return " (for one of several values write {in: [VALUE…]})"
	}
	return ""
}

// condition reads the value of one op.
func (c *checker) condition(op string, n *node, at *path) (cond engine.Condition, ok bool) {
	switch op {
	case "equals":
		return engine.Equals(n.value()), !n.spoiled()
	case "contains":
		return engine.Contains(n.value()), !n.spoiled()
	case "in":
		switch {
		case n.bad:
			return cond, false
		case n.kind != kindList:
			c.add(n, at, "want a list of values, not %s (for one value write equals)", n.describe())
			return cond, false
		case len(n.items) == 0:
			c.add(n, at, "an empty list holds no value (name at least one)")
			return cond, false
		}
		return engine.In(n.value().([]any)...), !n.spoiled()
	case "regexp":
		re, ok := c.regexp(n, at)
		return engine.Match(re), ok
	case "inside":
		root, ok := c.str(n, at, "a path")
		return engine.Inside(root), ok
	case "outside":
		root, ok := c.str(n, at, "a path")
		return engine.Outside(root), ok
	case "exists":
		if n.bad || n.kind != kindBool {
			c.boolean(n, at, false)
			return cond, false
		}
		return engine.Exists(n.text == "true"), true
	case "each":
		parts, ok := c.conditions(n, at)
		return engine.Each(parts...), ok
	default:
		parts, ok := c.conditions(n, at)
		return engine.Any(parts...), ok
	}
}
