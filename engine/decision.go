package engine

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Action is what should happen to a call. The zero Action is Deny.
type Action uint8

// The actions, from the most to the least restrictive.
const (
	Deny Action = iota
	Ask
	Allow
)

// String returns deny, ask or allow.
func (a Action) String() string {
	switch a {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	default:
		return "deny"
	}
}

// Source is the step that decided. The zero Source is that of a decision that came with an error.
type Source uint8

// The sources, in the order in which they are tried.
const (
	SourceNone Source = iota
	SourceScope
	SourceDeny
	SourcePin
	SourceAsk
	SourceAllow
	SourceDefault
)

var sourceNames = [...]string{"none", "scope", "deny", "pin", "ask", "allow", "default"}

// String returns the source's name in lower case.
func (s Source) String() string {
	if int(s) < len(sourceNames) {
		return sourceNames[s]
	}
	return sourceNames[0]
}

// Reason says why the source decided as it did: a closed set. The zero Reason is that of a decision that came
// with an error.
type Reason uint8

// The reasons.
const (
	ReasonNone              Reason = iota
	ReasonMatched                  // a rule matched
	ReasonPredicateFailed          // a predicate of a deny or ask rule failed, which counts as a match
	ReasonDefinitionChanged        // the tool is not the one that was approved
	ReasonNoApprover               // an ask rule matched and nobody can be asked
	ReasonNoMatch                  // no rule matched
	ReasonOutOfScope               // the policy is not about this kind
)

var reasonNames = [...]string{"none", "matched", "predicate_failed", "definition_changed", "no_approver", "no_match", "out_of_scope"}

// String returns the reason's name in snake case.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return reasonNames[0]
}

// Outcome is the part of a [Decision] that can be compared with ==.
type Outcome struct {
	Action Action
	Source Source
	Reason Reason

	// New says that the baseline lacks the tool, whatever decided. It is false for resources and prompts.
	New bool
}

// Decision is the answer to "may this call run". It is a small value. The zero Decision is a deny.
type Decision struct {
	// The fields of Outcome are apart because the compiler keeps a value of at most four fields in registers:
	// with all of them in one struct a caller of Decide waits 5 ns for memory it just wrote.
	Outcome

	rule *compiledRule // the rule that decided, or nil

	// Err is why a predicate failed: the deciding rule's, also where the reason is ReasonNoApprover; on a default
	// decision those of the allow rules that failed, joined in list order. It wraps the causes.
	Err error
}

// Rule describes the rule that decided. Its ID is "" where no rule did.
func (d Decision) Rule() RuleInfo {
	if d.rule == nil {
		return RuleInfo{}
	}
	return d.rule.info()
}

// RuleID returns the id of the rule that decided, or "" where no rule did.
func (d Decision) RuleID() string {
	if d.rule == nil {
		return ""
	}
	return d.rule.id
}

// String returns the decision on one line: "deny by deny[2] (matched)".
func (d Decision) String() string {
	var b strings.Builder
	by := d.Source.String()
	if d.rule != nil {
		by = d.rule.id
	}
	fmt.Fprintf(&b, "%s by %s (%s)", d.Action, by, d.Reason)
	if d.New {
		b.WriteString(", new tool")
	}
	if d.Err != nil {
		fmt.Fprintf(&b, ": %v", d.Err)
	}
	return b.String()
}

// AppendJSON appends the object {"action", "source", "reason", "rule", "new"} to dst and returns the extended slice;
// rule is null where no rule decided. It allocates only when dst has to grow.
func (d Decision) AppendJSON(dst []byte) []byte {
	dst = append(append(dst, `{"action":"`...), d.Action.String()...)
	dst = append(append(dst, `","source":"`...), d.Source.String()...)
	dst = append(append(dst, `","reason":"`...), d.Reason.String()...)
	dst = append(dst, `","rule":`...)
	if d.rule == nil {
		dst = append(dst, "null"...)
	} else {
		// An id that is not UTF-8 loses its bad bytes: the error says so, and the text is good all the same.
		dst, _ = jsontext.AppendQuote(dst, d.rule.id)
	}
	return append(strconv.AppendBool(append(dst, `,"new":`...), d.New), '}')
}

// MarshalJSON returns what [Decision.AppendJSON] appends.
func (d Decision) MarshalJSON() ([]byte, error) { return d.AppendJSON(nil), nil }

// LogValue returns the decision as a group for package slog: the keys of [Decision.MarshalJSON], and error where
// a predicate failed.
func (d Decision) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("action", d.Action.String()),
		slog.String("source", d.Source.String()),
		slog.String("reason", d.Reason.String()),
		slog.String("rule", d.RuleID()),
		slog.Bool("new", d.New),
	}
	if d.Err != nil {
		attrs = append(attrs, slog.String("error", d.Err.Error()))
	}
	return slog.GroupValue(attrs...)
}

// List is one of the lists of rules.
type List uint8

// The lists.
const (
	ListInclude List = iota
	ListExclude
	ListDeny
	ListAsk
	ListAllow
)

var listNames = [...]string{"include", "exclude", "deny", "ask", "allow"}

// String returns the option's name in a document.
func (l List) String() string {
	if int(l) < len(listNames) {
		return listNames[l]
	}
	return fmt.Sprintf("List(%d)", uint8(l))
}

// loose reports whether the list's rules match loosely: those that take away.
func (l List) loose() bool { return l == ListExclude || l == ListDeny || l == ListAsk }

// section returns the part of a document the list stands in.
func (l List) section() string {
	if l == ListInclude || l == ListExclude {
		return "filter"
	}
	return "policy"
}

// RuleInfo describes a compiled rule.
type RuleInfo struct {
	List     List
	Index    int      // in its list, from 0
	ID       string   // the given id, or list and index: "deny[2]"
	Message  string   // the sentence of a named rule, if it has one
	Text     string   // the rule as a document writes it
	Position Position // where it was written
}
