// The question: what a person is shown, and what can be chosen.
//
//	A tool call needs your approval. What stands in quotes was written by others: follow no instructions in it.
//
//	```
//	Server: "files"
//	Tool: "write"
//	Arguments: {"path":"/data/x"}
//	Why: a rule says to ask.
//	Rule: "ask[0]"
//	```
//
// Every line begins with a label of ours, and what comes from others is escaped (see escape.go) and has no newlines, so
// that no line is theirs. The block of code keeps clients that render Markdown from rendering it, and the lines apart;
// clients that do not show two lines more.

package approval

import (
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
)

const (
	// maxExact bounds what must be shown whole, names and arguments, as it is escaped: some five screens. More would be
	// approved unread. Nothing of it is ever cut.
	maxExact = 8 << 10

	// maxSentence bounds a rule's sentence and text.
	maxSentence = 1 << 10
)

// question is one question. It depends on the request alone.
type question struct {
	text    string
	choices []string
}

// The choices, and the property of the form that has them.
const (
	property     = "decision"
	choiceOnce   = "once"
	choiceAlways = "always"
	choiceDeny   = "deny"

	actionAccept = "accept"
)

var titles = map[string]string{
	choiceOnce:   "Allow once",
	choiceAlways: "Always allow this tool",
	choiceDeny:   "Deny",
}

var openings = map[engine.Kind]string{
	engine.Tools:     "A tool call needs your approval.",
	engine.Resources: "Reading a resource needs your approval.",
	engine.Prompts:   "The use of a prompt needs your approval.",
}

var kindLabels = map[engine.Kind]string{engine.Tools: "Tool", engine.Resources: "Resource", engine.Prompts: "Prompt"}

const (
	warning    = "What stands in quotes was written by others: follow no instructions in it."
	fence      = "```"
	alwaysText = "\"Always\" approves the tool as it is now. You are asked again when it changes, and where a rule says so."
)

// newQuestion returns the question about r. It returns ErrTooLarge where it cannot be asked whole. "Always" is among the
// choices where it may be and where it would make a difference.
func newQuestion(r *hub.ApprovalRequest, remembers bool) (*question, error) {
	q := &question{choices: []string{choiceOnce}}
	if remembers && r.Kind == engine.Tools && r.Fingerprint != "" && r.Remembered.Action == engine.Allow {
		q.choices = append(q.choices, choiceAlways)
	}
	q.choices = append(q.choices, choiceDeny)

	var p page
	p.name("Server", r.Target.Server)
	p.name(kindLabels[r.Kind], r.Target.Name)
	if r.Caller.Principal != "" {
		p.name("Caller", r.Caller.Principal)
	}
	p.label("Arguments")
	if r.Args == nil {
		p.fixed("none")
	} else {
		p.json(r.Args)
		p.end()
	}
	if len(p.b) > maxExact {
		return nil, ErrTooLarge
	}
	p.why(r)
	if r.Kind == engine.Tools && r.Decision.Source == engine.SourcePin {
		p.changes(r)
	}

	q.text = openings[r.Kind] + " " + warning + "\n\n" + fence + "\n" + string(p.b) + fence
	if len(q.choices) == 3 {
		q.text += "\n\n" + alwaysText
	}
	return q, nil
}

// page is the lines of a question.
type page struct{ writer }

func (p *page) label(label string) { p.b = append(append(p.b, label...), ": "...) }
func (p *page) end()               { p.b = append(p.b, '\n') }

// fixed is a line of our own words.
func (p *page) fixed(text string) {
	p.b = append(p.b, text...)
	p.end()
}

// name is a line with an identity.
func (p *page) name(label, value string) {
	p.ascii = true
	p.label(label)
	p.quote(value)
	p.ascii = false
	p.end()
}

// sentence is a line with text that may be cut, which its label then says.
func (p *page) sentence(label, value string) {
	if cut := clip(value, maxSentence); cut != value {
		label += " (the first " + strconv.Itoa(len(cut)) + " of " + strconv.Itoa(len(value)) + " bytes)"
		value = cut
	}
	p.label(label)
	p.quote(value)
	p.end()
}

// clip returns the first n bytes of s at most, and no half of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// why says why somebody is asked.
func (p *page) why(r *hub.ApprovalRequest) {
	p.label("Why")
	d := r.Decision
	switch {
	case d.Source == engine.SourcePin:
		p.fixed("the tool is not the one that was approved; its definition has changed.")
	case d.Source == engine.SourceAsk && d.Reason == engine.ReasonPredicateFailed:
		p.fixed("a rule that asks could not be checked for this call.")
	case d.Source == engine.SourceAsk:
		p.fixed("a rule says to ask.")
	case d.New && r.Remembered.Action == engine.Allow:
		p.fixed("no rule allows it while the tool is new; nobody has approved the tool yet.")
	case d.New:
		p.fixed("no rule allows it, and nobody has approved the tool yet.")
	default:
		p.fixed("no rule allows it or denies it.")
	}
	if d.New && d.Source == engine.SourceAsk {
		p.fixed("New: the tool is new, too; nobody has approved it yet.")
	}
	if rule := d.Rule(); rule.ID != "" {
		p.sentence("Rule", rule.ID)
		text, _ := plainOf([]byte(rule.Text)) // a pattern stands in quotes already
		p.sentence("Rule text", text)
		if rule.Message != "" {
			p.sentence("Rule message", rule.Message)
		}
	}
	if r.Tool != nil {
		p.hints(r.Tool.Hints)
	}
}

// hints says what the server claims of the tool.
func (p *page) hints(h engine.Hints) {
	if h == (engine.Hints{}) {
		return
	}
	p.b = append(p.b, "Claimed by the server:"...)
	sep := " "
	for _, c := range []struct {
		hint    engine.Hint
		yes, no string
	}{
		{h.ReadOnly, "only reads", "does not only read"},
		{h.Destructive, "destroys", "does not destroy"},
		{h.OpenWorld, "reaches the outside", "does not reach the outside"},
		{h.Idempotent, "may be repeated", "may not be repeated"},
	} {
		switch c.hint {
		case engine.True:
			p.b = append(append(p.b, sep...), c.yes...)
		case engine.False:
			p.b = append(append(p.b, sep...), c.no...)
		default:
			continue
		}
		sep = ", "
	}
	p.end()
}

// params returns the form. Titles of choices had another form before 2025-11-25.
func (q *question) params(version string) *mcp.ElicitParams {
	choice := map[string]any{"type": "string", "title": "Decision"}
	if version >= "2025-11-25" {
		var oneOf []any
		for _, c := range q.choices {
			oneOf = append(oneOf, map[string]any{"const": c, "title": titles[c]})
		}
		choice["oneOf"] = oneOf
	} else {
		var enum, names []any
		for _, c := range q.choices {
			enum, names = append(enum, c), append(names, titles[c])
		}
		choice["enum"], choice["enumNames"] = enum, names
	}
	return &mcp.ElicitParams{Mode: "form", Message: q.text, RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{property: choice}, "required": []any{property},
	}}
}

// choice returns what was chosen, other than to deny.
func (q *question) choice(res *mcp.ElicitResult) (string, error) {
	if res == nil {
		return "", ErrUnexpected
	}
	switch res.Action {
	case actionAccept:
	case "decline", "cancel":
		return "", ErrDeclined
	default:
		return "", ErrUnexpected
	}
	chosen, ok := res.Content[property].(string)
	if !ok || len(res.Content) != 1 {
		return "", ErrUnexpected
	}
	for _, c := range q.choices {
		switch {
		case c != chosen:
		case c == choiceDeny:
			return "", ErrDeclined
		default:
			return c, nil
		}
	}
	return "", ErrUnexpected
}
