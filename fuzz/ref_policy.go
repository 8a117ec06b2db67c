package fuzz

import (
	"errors"
	"fmt"
	"slices"
)

// allowAll is what AllowAll returns (section 5.7).
var allowAll = Policy{
	Allow:         []Rule{{Form: Pattern, Text: "*/*"}},
	AllowNewTools: true,
	NoPins:        true,
}

// Decide decides section 5.2. A nil policy denies everything.
func (p *Policy) Decide(t Target, call *Call, request Request) Outcome {
	// "The call and the tool must name the same target, byte for byte; otherwise an error, checked before
	// everything else, and the decision returned with it is a deny. The same for a server id that no server can
	// have."
	refused := Outcome{Action: "deny", Source: "none", Reason: "none", Refused: true}
	if call != nil && (call.Server != t.Server || call.Name != t.Name) {
		return refused
	}
	if checkServerID(t.Server) != nil {
		return refused
	}
	if p == nil {
		return Outcome{Action: "deny", Source: "none", Reason: "none"}
	}
	if p.AllowAll {
		p = &allowAll
	}
	o := p.decide(t, request)
	// "A decision also says whether the tool was new (the baseline lacks it, whatever decided; false for resources
	// and prompts)"
	o.New = t.Kind == Tool && isNew(t, request)
	return o
}

func (p *Policy) decide(t Target, request Request) Outcome {
	askOrDeny := "deny" // "Without an approver the answer is never ask."
	if request.HasApprover {
		askOrDeny = "ask"
	}
	q := question{target: t, request: request, trusted: p.Trusted.trusts(t.Server)}

	// 1. "The kind is not in scope: allow, source scope, reason out_of_scope."
	if !slices.Contains(p.scope(), t.Kind) {
		return Outcome{Action: "allow", Source: "scope", Reason: "out_of_scope"}
	}

	// 2. "A deny rule matches: deny, source deny."
	q.loose = true
	if id, result := first("deny", p.Deny, q); result != no {
		return Outcome{Action: "deny", Source: "deny", Reason: reason(result), Rule: id, Failed: result == failed}
	}

	// 3. "Pin (tools only): pin_tools, the baseline has the tool, and the tool's fingerprint differs: ask, or deny
	// without an approver; source pin, reason definition_changed both times."
	if t.Kind == Tool && !p.NoPins && !isNew(t, request) && differs(t, request) {
		return Outcome{Action: askOrDeny, Source: "pin", Reason: "definition_changed"}
	}

	// 4. "An ask rule matches: ask, source ask; without an approver deny, source ask, reason no_approver (also when
	// the rule's predicate failed)."
	if id, result := first("ask", p.Ask, q); result != no {
		o := Outcome{Action: askOrDeny, Source: "ask", Reason: reason(result), Rule: id, Failed: result == failed}
		if !request.HasApprover {
			o.Reason = "no_approver"
		}
		return o
	}

	// 5. "An allow rule matches: allow, source allow. A new tool is matched only by exact rules unless
	// allow_new_tools" A predicate that fails counts "as not matching in allow" (5.4).
	q.loose = false
	anyFailed := false
	for i, r := range p.Allow {
		if t.Kind == Tool && isNew(t, request) && !p.AllowNewTools && !r.exact() {
			continue
		}
		switch r.holds(q) {
		case yes:
			return Outcome{Action: "allow", Source: "allow", Reason: "matched", Rule: r.id("allow", i)}
		case failed:
			anyFailed = true
		}
	}

	// 6. "Default: ask → ask, or deny without an approver; deny → deny. Source default, reason no_match." The
	// decision carries "those of the allow rules that failed, joined".
	o := Outcome{Action: askOrDeny, Source: "default", Reason: "no_match", Failed: anyFailed}
	if p.Default == "deny" {
		o.Action = "deny"
	}
	return o
}

// first returns the id of "the first matching rule in list order, dynamic ones included". In deny and ask a
// predicate that fails counts as matching (5.4).
func first(list string, rules []Rule, q question) (string, truth) {
	for i, r := range rules {
		if result := r.holds(q); result != no {
			return r.id(list, i), result
		}
	}
	return "", no
}

func reason(result truth) string {
	if result == failed {
		return "predicate_failed"
	}
	return "matched"
}

// id is the rule's own id, or "its list and its 0-based index: deny[2]".
func (r Rule) id(list string, index int) string {
	if r.Form == Named {
		return r.ID
	}
	return fmt.Sprintf("%s[%d]", list, index)
}

func (p *Policy) scope() []Kind {
	if len(p.Scope) == 0 {
		return []Kind{Tool}
	}
	return p.Scope
}

// trusts reports whether the server's hints are trusted: "ids compare exactly".
func (t Trust) trusts(server string) bool {
	return t.All || slices.Contains(t.IDs, server)
}

// approval returns the baseline's entry: "keys compare exactly". Of two entries for one tool the last counts.
func approval(t Target, request Request) *Approval {
	for i := len(request.Approved) - 1; i >= 0; i-- {
		if a := request.Approved[i]; a.Server == t.Server && a.Name == t.Name {
			return &a
		}
	}
	return nil
}

// isNew: "the baseline lacks it"; "none given means every tool is new".
func isNew(t Target, request Request) bool { return approval(t, request) == nil }

// differs: "A tool with no computable fingerprint, or an empty baseline entry, differs."
func differs(t Target, request Request) bool {
	a := approval(t, request)
	approved, err := fingerprint(a.Fingerprint, a.Of)
	if err != nil {
		return true
	}
	current, err := fingerprint(t.Fingerprint, t.Raw)
	return err != nil || current != approved
}

// fingerprint: "a tool's own fingerprint wins over one computed from its raw definition". What is given and what
// is computed never look alike, since nobody here knows a hash.
func fingerprint(own, raw string) (string, error) {
	switch {
	case own != "":
		return "given " + own, nil
	case raw == "":
		return "", errors.New("no fingerprint")
	}
	text, err := Fingerprint(raw)
	return "computed " + text, err
}

// Check returns why the policy is refused: one error for each bad entry, nil for a good policy.
func (p *Policy) Check() error {
	var errs entryErrors
	if p.Default != "" && p.Default != "ask" && p.Default != "deny" {
		errs.add("policy.default", fmt.Errorf("%q", p.Default))
	}
	for _, kind := range p.Scope {
		if kind != Tool && kind != Resource && kind != Prompt {
			errs.add("policy.scope", fmt.Errorf("%q", kind))
		}
	}
	for _, id := range slices.Concat(p.Trusted.IDs, p.Trusted.Off) {
		if err := checkServerID(id); err != nil {
			errs.add("policy.trusted", err)
		}
	}
	ids := map[string]bool{}
	for _, list := range []struct {
		name  string
		rules []Rule
	}{{"deny", p.Deny}, {"ask", p.Ask}, {"allow", p.Allow}} {
		errs.list("policy."+list.name, list.rules, false)
		for i, r := range list.rules {
			place := fmt.Sprintf("policy.%s[%d]", list.name, i)
			// "They need their kind in the scope"; "tool rules in a policy whose scope lacks tools are dead:
			// refused".
			if kind, _ := r.kind(); !slices.Contains(p.scope(), kind) {
				errs.add(place, fmt.Errorf("a %s rule, and the scope lacks it", kind))
			}
			// "unique in its policy"
			if r.Form == Named {
				if ids[r.ID] {
					errs.add(place, fmt.Errorf("id %q stands twice", r.ID))
				}
				ids[r.ID] = true
			}
		}
	}
	return errs.err()
}

// entryErrors collects what is wrong: "all bad entries are reported in one error".
type entryErrors []error

func (e *entryErrors) add(place string, err error) {
	*e = append(*e, fmt.Errorf("%s: %w", place, err))
}

func (e *entryErrors) list(place string, rules []Rule, filter bool) {
	for i, r := range rules {
		if err := r.check(filter, false); err != nil {
			e.add(fmt.Sprintf("%s[%d]", place, i), err)
		}
	}
}

func (e entryErrors) err() error { return errors.Join(e...) }
