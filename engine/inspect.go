package engine

import (
	"regexp"
	"slices"
)

// This file shows what rules are made of to programs that read policies rather than run them: a linter, a converter.
// Nothing here decides anything.

// Form is how a [Rule] was made.
type Form uint8

// The forms. FormNone is that of the zero Rule and of [Bad].
const (
	FormNone Form = iota
	FormPattern
	FormRegexp
	FormFunc
	FormArgs
	FormArg
	FormAttribute
	FormAnnotation
	FormTainted
	FormAll
	FormNamed
)

var forms = [...]Form{
	formPattern: FormPattern, formRegexp: FormRegexp, formFunc: FormFunc, formArgs: FormArgs, formArg: FormArg,
	formAttribute: FormAttribute, formAnnotation: FormAnnotation, formTainted: FormTainted, formAll: FormAll,
	formNamed: FormNamed, formBad: FormNone,
}

// Shape is what one rule is made of. Which fields count depends on Form; the others are zero.
type Shape struct {
	Form Form
	Text string // of a pattern: as written; of Func and Args: the name; of Arg and Attribute: the key

	// Of patterns and regexps. A pattern that does not parse has Form FormNone.
	Kind         Kind
	Server, Name string         // segment globs; a regexp has no Name; the server of a bare name is "*"
	Bare         bool           // the pattern has no server segment
	Regexp       *regexp.Regexp // must not be changed

	Hint HintKey // of an annotation: the hint,
	Want bool    // and what it must be

	Conditions []Condition // of Arg and Attribute
	Ignore     []string    // of Tainted
	Members    []Rule      // of All; of Named the one rule

	ID, Message string // of Named
}

// Exact reports whether the shape is that of a pattern of one target: it may allow tools that are new.
func (s Shape) Exact() bool {
	return s.Form == FormPattern && pattern{server: s.Server, name: s.Name, bare: s.Bare}.exact()
}

// Inspect returns what r is made of. The slices are copies.
func (r Rule) Inspect() Shape {
	s := Shape{Text: r.text}
	if int(r.form) < len(forms) {
		s.Form = forms[r.form]
	}
	switch s.Form {
	case FormPattern:
		p, err := parsePattern(r.text)
		if err != nil {
			return Shape{Text: r.text}
		}
		s.Kind, s.Server, s.Name, s.Bare = p.kind, p.server, p.name, p.bare
	case FormRegexp:
		s.Text, s.Server = "", r.text
		s.Kind, s.Regexp = r.kind, r.more.re
	case FormArg, FormAttribute:
		s.Conditions = slices.Clone(r.more.conds)
	case FormAnnotation:
		s.Hint, s.Want = r.more.hint, r.more.want
	case FormTainted:
		s.Ignore = slices.Clone(r.more.ignore)
	case FormAll:
		s.Members = slices.Clone(r.more.members)
	case FormNamed:
		s.Members, s.ID, s.Message = slices.Clone(r.more.members), r.more.id, r.more.message
	}
	return s
}

// ConditionShape is what one condition is made of, as far as a reader of policies needs it.
type ConditionShape struct {
	Op     string         // as a policy document has it, such as "inside"; "condition" for the zero Condition
	Root   string         // of inside and outside
	Regexp *regexp.Regexp // of regexp; must not be changed
	Parts  []Condition    // of each and any
}

// Inspect returns what c is made of. The slice is a copy.
func (c Condition) Inspect() ConditionShape {
	return ConditionShape{Op: c.op.String(), Root: c.root, Regexp: c.re, Parts: slices.Clone(c.parts)}
}
