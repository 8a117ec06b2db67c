package engine

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rule is one entry of a filter or a policy. It is a small immutable value; the zero Rule is refused when
// compiled. Constructors never fail: whatever is wrong with a Rule is reported by [CompileFilter] and
// [CompilePolicy], together with everything else that is wrong.
type Rule struct {
	form form
	kind Kind   // of regexps; patterns carry theirs in the text
	text string // the pattern, the server segment of a regexp, the key of an argument, the name of a function
	more *ruleBody
	pos  Position
}

// form is how a rule was made.
type form uint8

const (
	formNone form = iota
	formPattern
	formRegexp
	formFunc
	formArgs
	formArg
	formAttribute
	formAnnotation
	formTainted
	formAll
	formNamed
	formBad
)

// ruleBody holds what only some forms need. It is never changed once the Rule that points to it exists.
type ruleBody struct {
	re      *regexp.Regexp
	fn      func(context.Context, Input) (bool, error)
	hint    HintKey
	want    bool
	conds   []Condition
	ignore  []string
	members []Rule
	id      string
	message string
	bad     error
}

// Pattern returns a rule for "server/tool", "tool" (on any server), "*" (every tool), "resource:server/uri" or
// "prompt:server/name". '*' is the only metacharacter and matches any run of characters within its own
// segment; the first '/' separates the segments.
func Pattern(p string) Rule { return Rule{form: formPattern, text: p} }

// Regexp returns a rule whose server segment is a glob and whose regular expression is tried on the tool's name,
// unanchored. In exclude, deny and ask it is tried on the name and on its fold, and either is a match.
func Regexp(server string, re *regexp.Regexp) Rule { return regexpRule(Tools, server, re) }

// ResourceRegexp is [Regexp] for the URIs of resources.
func ResourceRegexp(server string, re *regexp.Regexp) Rule { return regexpRule(Resources, server, re) }

// PromptRegexp is [Regexp] for the names of prompts.
func PromptRegexp(server string, re *regexp.Regexp) Rule { return regexpRule(Prompts, server, re) }

func regexpRule(k Kind, server string, re *regexp.Regexp) Rule {
	return Rule{form: formRegexp, kind: k, text: server, more: &ruleBody{re: re}}
}

// Func returns a rule that f decides at call time, in the caller's goroutine. f must not look at arguments
// ([Input.Arg] panics), which is what makes the rule usable in filters, too. The name is for people.
//
// A panic or an error of f counts as matching in exclude, deny and ask, and as not matching in include and
// allow. f should be a pure function of its input; it must be safe for concurrent use.
func Func(name string, f func(context.Context, Input) (bool, error)) Rule {
	return Rule{form: formFunc, text: name, more: &ruleBody{fn: f}}
}

// Args is [Func] for a function that may look at the call's arguments. Such a rule is for policies only.
func Args(name string, f func(context.Context, Input) (bool, error)) Rule {
	return Rule{form: formArgs, text: name, more: &ruleBody{fn: f}}
}

// Arg returns a rule that holds when the argument named by key meets every condition. The key is a top-level
// key or, when it begins with '/', a JSON Pointer (RFC 6901). A condition that cannot answer, such as one on
// a missing argument, makes the rule fail: see [Condition].
func Arg(key string, conditions ...Condition) Rule {
	return Rule{form: formArg, text: key, more: &ruleBody{conds: slices.Clone(conditions)}}
}

// Attribute is [Arg] for the request's attributes: who the caller is.
func Attribute(key string, conditions ...Condition) Rule {
	return Rule{form: formAttribute, text: key, more: &ruleBody{conds: slices.Clone(conditions)}}
}

// Annotation returns a rule that holds when the tool's effective hint equals want: see [Hints.Effective].
func Annotation(key HintKey, want bool) Rule {
	return Rule{form: formAnnotation, more: &ruleBody{hint: key, want: want}}
}

// Tainted returns a rule that holds when the request's taint set has a server other than the called tool's own
// and not in ignore. Ids compare exactly. Use it in deny and ask; in allow it would widen what a tainted
// call may do.
func Tainted(ignore ...string) Rule {
	return Rule{form: formTainted, more: &ruleBody{ignore: slices.Clone(ignore)}}
}

// All returns a rule that holds when every member does. Members may be of any form but [Named], at any depth down to 64,
// 4,096 of them in all, and of one kind.
func All(rules ...Rule) Rule {
	return Rule{form: formAll, more: &ruleBody{members: slices.Clone(rules)}}
}

// Named returns r, reported under id.
func Named(id string, r Rule) Rule {
	return Rule{form: formNamed, pos: r.pos, more: &ruleBody{id: id, members: []Rule{r}}}
}

// Bad returns a rule that no list takes: compiling it reports err with everything else that is wrong. It is for
// readers of other notations, so that their errors come with the same place and in the same order.
func Bad(text string, err error) Rule {
	return Rule{form: formBad, text: text, more: &ruleBody{bad: err}}
}

// WithMessage returns the named rule r with a sentence for whoever was refused or is asked. Only a [Named] rule
// carries a message; on any other rule compiling reports an error.
func (r Rule) WithMessage(message string) Rule {
	if r.form != formNamed {
		return Bad(r.String(), fmt.Errorf("a message needs a named rule"))
	}
	body := *r.more
	body.message = message
	r.more = &body
	return r
}

// At returns r with the place it was written at, for errors and explanations.
func (r Rule) At(p Position) Rule {
	r.pos = p
	return r
}

// frozen returns r sharing nothing that its maker could still change: what a compiled rule says of itself must stay what it
// decides. r has been compiled, so its values can be copied.
func (r Rule) frozen() Rule {
	if r.more == nil || r.form == formFunc || r.form == formArgs {
		return r
	}
	body := *r.more
	if body.re != nil {
		re := *body.re
		body.re = &re
	}
	body.conds = frozenConditions(body.conds)
	body.members = slices.Clone(body.members)
	for i, m := range body.members {
		body.members[i] = m.frozen()
	}
	r.more = &body
	return r
}

// Position returns where r was written.
func (r Rule) Position() Position { return r.pos }

// String returns r in the notation of a policy document, on one line.
func (r Rule) String() string {
	var b strings.Builder
	r.write(&b)
	return b.String()
}

// maxText bounds what is written of one rule: rules that share their members could stand for any length.
const maxText = 1 << 16

func (r Rule) write(b *strings.Builder) {
	if b.Len() > maxText {
		b.WriteString("…")
		return
	}
	switch r.form {
	case formPattern:
		b.WriteString(strconv.Quote(r.text))
	case formRegexp:
		open, end := "", ""
		if r.kind != Tools {
			open, end = "{"+r.kind.one()+": ", "}"
		}
		expr := "nil"
		if r.more.re != nil {
			expr = strconv.Quote(r.more.re.String())
		}
		fmt.Fprintf(b, "%s{server: %q, regexp: %s}%s", open, r.text, expr, end)
	case formFunc, formArgs:
		fmt.Fprintf(b, "{predicate: %s}", r.text)
	case formArg, formAttribute:
		word := "args"
		if r.form == formAttribute {
			word = "attribute"
		}
		fmt.Fprintf(b, "{%s: {%q: {", word, r.text)
		for i, c := range r.more.conds {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(c.String())
		}
		b.WriteString("}}}")
	case formAnnotation:
		fmt.Fprintf(b, "{annotation: {%s: %t}}", r.more.hint, r.more.want)
	case formTainted:
		b.WriteString("{tainted: {")
		if len(r.more.ignore) > 0 {
			fmt.Fprintf(b, "ignore: [%s]", strings.Join(r.more.ignore, ", "))
		}
		b.WriteString("}}")
	case formAll:
		b.WriteString("{all: [")
		for i, m := range r.more.members {
			if i > 0 {
				b.WriteString(", ")
			}
			if m.write(b); b.Len() > maxText {
				break
			}
		}
		b.WriteString("]}")
	case formNamed:
		fmt.Fprintf(b, "{id: %q, rule: ", r.more.id)
		r.more.members[0].write(b)
		b.WriteString("}")
	case formBad:
		b.WriteString(r.text)
	default:
		b.WriteString("{}")
	}
}
