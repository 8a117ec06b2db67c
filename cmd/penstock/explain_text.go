package main

import (
	"fmt"
	"strings"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
)

// printer writes an explanation for people.
type printer struct {
	b       strings.Builder
	columns int  // of the terminal; 0 for anything else, where no line is broken
	colour  bool // escape sequences
	margin  string
}

// stepIndent is where the text of a step begins, ruleIndent that of a rule below it.
const (
	stepIndent = 12
	ruleIndent = 14
)

func (p *printer) paint(style, s string) string {
	if !p.colour || style == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// line writes head, and behind it words, which are broken at spaces where the line would be too long; the lines that
// follow are indented. The words must print.
func (p *printer) line(style, head string, indent int, words string) {
	room := 0
	if p.columns > 0 {
		room = max(p.columns-len(p.margin), indent+20)
	}
	line, n := head, text.Width(head)
	flush := func() {
		p.b.WriteString(p.margin + p.paint(style, strings.TrimRight(line, " ")) + "\n")
	}
	for i, word := range strings.Split(words, " ") {
		w := text.Width(word)
		if i > 0 && room > 0 && n+1+w > room {
			flush()
			line, n = strings.Repeat(" ", indent), indent
		} else if i > 0 {
			line, n = line+" ", n+1
		}
		line, n = line+word, n+w
	}
	flush()
}

func (p *printer) explanation(x *explanation) {
	p.headline(x)
	p.b.WriteByte('\n')
	if x.kind == engine.Tools {
		p.visible(x)
	}
	reached := true
	for _, s := range x.Steps {
		p.step(x, s, reached)
		reached = reached && !s.Decides
	}
	if len(x.NearMisses) > 0 {
		p.b.WriteString("\n" + p.margin + p.paint(styleBold, "Near misses") + "\n")
		for _, m := range x.NearMisses {
			p.line("", "  ", 4, text.Plain(m.Rule.ID)+"  "+text.Line(m.Rule.Text)+place(m.Rule)+": "+x.why(m)+".")
		}
	}
	if len(x.notes) > 0 {
		p.b.WriteByte('\n')
	}
	for _, note := range x.notes {
		p.line("", "", 0, note)
	}
}

// headline says what is asked about and what the answer is.
func (p *printer) headline(x *explanation) {
	d := x.Decision
	name := kindWords[x.kind] + " " + text.Plain(x.name) + " of " + text.Plain(x.server)
	if x.missing {
		p.line(styleBold, "", 0, name+" is not found: no catalog lists it.")
		if len(x.suggestions) > 0 {
			p.line("", "", 0, "Did you mean "+or(x.suggestions)+"?")
		}
		p.line(actionStyle[d.Action], "", 2, "If it were there: "+answer(d)+".")
	} else {
		if x.visible() == hidden {
			name += " is hidden, so a call is not found; the policy says"
		} else {
			name += ":"
		}
		p.line(actionStyle[d.Action], "", 2, name+" "+answer(d)+".")
	}
	if m := d.Rule().Message; m != "" {
		p.line("", "Message: ", 2, text.Line(m))
	}
	if d.Err != nil {
		p.line("", "Failed: ", 2, oneLine(d.Err))
	}
	if h := x.tool.Hints; h != (engine.Hints{}) {
		p.line("", "", 2, claims(h)+"; "+amount(h, x.Trusted)+".")
	}
}

// answer is a decision in a few words: "deny by deny[2] (matched)".
func answer(d engine.Decision) string {
	by := d.Source.String()
	if id := d.RuleID(); id != "" {
		by = text.Plain(id)
	}
	s := fmt.Sprintf("%s by %s (%s)", d.Action, by, d.Reason)
	if d.New {
		s += "; the tool is new"
	}
	return s
}

// claims is what a server says of a tool, as it says it.
func claims(h engine.Hints) string {
	var all []string
	for _, hint := range []struct {
		key  string
		says engine.Hint
	}{{"readOnlyHint", h.ReadOnly}, {"destructiveHint", h.Destructive}, {"openWorldHint", h.OpenWorld}, {"idempotentHint", h.Idempotent}} {
		if hint.says != engine.Unset {
			all = append(all, hint.key+": "+hint.says.String())
		}
	}
	return "The server says " + strings.Join(all, ", ")
}

// amount is what hints amount to.
func amount(h engine.Hints, trusted bool) string {
	trust := "it is not trusted, so"
	if trusted {
		trust = "it is trusted, and"
	}
	var all []string
	for key := engine.HintReadOnly; key <= engine.HintIdempotent; key++ {
		word := strings.ReplaceAll(key.String(), "_", "-")
		if !h.Effective(key, trusted) {
			word = "not " + word
		}
		all = append(all, word)
	}
	return trust + " the tool counts as " + strings.Join(all, ", ")
}

// visible is the step before all others.
func (p *printer) visible(x *explanation) {
	say, by := "yes: no entry hides it", ""
	for _, t := range x.Filter {
		if !t.Counts {
			continue
		}
		if by = text.Plain(t.Rule.ID); x.Visible {
			say = "yes: " + by + " shows it, and no entry hides it"
		} else if t.Rule.List == engine.ListExclude {
			say = "no: " + by + " hides it"
			if t.Result == engine.ResultFailed {
				say = "no: " + by + " failed, which hides"
			}
		}
		break
	}
	if !x.Visible && by == "" {
		say = "no: no include entry matches it"
	}
	p.line("", "   visible  ", stepIndent, say)
	p.traces(x.Filter, "")
}

// step writes one step of the policy.
func (p *printer) step(x *explanation, s engine.Step, reached bool) {
	head, style := "   ", ""
	switch {
	case s.Decides:
		head, style = "-> ", styleBold
	case !reached:
		style = styleDim
	}
	var say []string
	if !reached {
		say = append(say, "not reached")
	}
	switch s.Source {
	case engine.SourceDeny, engine.SourceAsk, engine.SourceAllow:
		say = append(say, counting(s))
	}
	if s.Note != "" {
		say = append(say, s.Note)
	}
	p.line(style, head+text.Pad(s.Source.String(), stepIndent-len(head)), stepIndent, strings.Join(say, "; "))
	p.traces(s.Rules, style)
}

// counting says which rules of a step count.
func counting(s engine.Step) string {
	var ids []string
	failed := false
	for _, t := range s.Rules {
		if t.Counts {
			failed = failed || len(ids) == 0 && t.Result == engine.ResultFailed
			ids = append(ids, text.Plain(t.Rule.ID))
		}
	}
	switch {
	case len(ids) == 0:
		return "no rule matches"
	case failed && len(ids) == 1:
		return ids[0] + " failed, which counts as a match"
	case len(ids) == 1:
		return ids[0] + " matches"
	default:
		return fmt.Sprintf("%d rules match, %s first", len(ids), ids[0])
	}
}

// resultWords are what the results are called where people read them.
var resultWords = [...]string{
	engine.ResultNo: "no", engine.ResultYes: "yes", engine.ResultFailed: "failed", engine.ResultBarred: "barred",
}

// traces writes the rules of a step with what they say.
func (p *printer) traces(list []engine.RuleTrace, style string) {
	if style != styleDim {
		style = ""
	}
	for _, t := range list {
		head := strings.Repeat(" ", stepIndent) + text.Pad(resultWords[t.Result], 7)
		p.line(style, head, ruleIndent+7, text.Plain(t.Rule.ID)+"  "+text.Line(t.Rule.Text)+place(t.Rule))
		if t.Members == nil && t.Err != nil {
			p.line(style, strings.Repeat(" ", ruleIndent+7), ruleIndent+7, oneLine(t.Err))
		}
		for _, m := range t.Members {
			words := text.Line(m.Text)
			if m.Err != nil {
				words += ": " + oneLine(m.Err)
			}
			p.line(style, strings.Repeat(" ", stepIndent+7)+text.Pad(resultWords[m.Result], 7), ruleIndent+14, words)
		}
	}
}

// place is where a rule stands, in brackets behind a space.
func place(r engine.RuleInfo) string {
	if r.Position.IsZero() {
		return ""
	}
	return " (" + text.Line(r.Position.String()) + ")"
}

// oneLine is the text of an error that may hold several, or anything a server or a caller wrote.
func oneLine(err error) string {
	s := strings.ReplaceAll(err.Error(), "\n", "; ")
	return text.Line(s)
}

// why says in what way a rule misses, as the end of a sentence.
func (x *explanation) why(m engine.NearMiss) string {
	half := "server"
	switch m.Kind {
	case engine.NearLoose:
		return fmt.Sprintf("it matches but for case, '-', '.' or '_', and %s matches exactly", m.Rule.List)
	case engine.NearNew:
		return "it matches, but the tool is new, and only a rule without a star may allow a new tool"
	case engine.NearName:
		half = kindWords[x.kind] + "'s name"
		if x.kind == engine.Resources {
			half = "URI"
		}
		fallthrough
	case engine.NearServer:
		return "it would match if its " + half + " differed by one character"
	case engine.NearHalf:
		return "the name matches, and the server is another one"
	case engine.NearHint:
		want := strings.ReplaceAll(m.Hint.String(), "_", "-")
		if !m.Want {
			want = "not " + want
		}
		s := "the tool does not count as " + want
		if !x.Trusted {
			s += ", since the server is not trusted"
		}
		return s
	}
	return m.Kind.String()
}

// or joins words: a, b or c.
func or(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
