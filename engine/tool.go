package engine

import "encoding/json"

// Tool is what one server says of one tool, plus what the embedder knows of it.
type Tool struct {
	Server string // the operator's id of the server, never the server's own idea of its name
	Name   string // as the server gave it
	Hints  Hints  // what the server claims; see [HintsFromJSON] for raw annotations

	// Fingerprint is set by the embedder, never decoded from what a server sent. Where it is empty,
	// it is computed from Raw when it is needed; see [ComputeFingerprint].
	Fingerprint Fingerprint

	// Raw is the whole definition as the server sent it.
	Raw json.RawMessage
}

// Target returns the pair that rules are matched against.
func (t *Tool) Target() Target { return Target{Server: t.Server, Name: t.Name} }

// clone returns a copy that shares no memory that can be written.
func (t *Tool) clone() Tool {
	c := *t
	c.Raw = append(json.RawMessage(nil), t.Raw...)
	return c
}

// fingerprint returns the tool's own fingerprint, or else the one of its raw definition, or else "".
func (t *Tool) fingerprint() Fingerprint {
	if t.Fingerprint != "" {
		return t.Fingerprint
	}
	f, err := ComputeFingerprint(t.Raw)
	if err != nil {
		return ""
	}
	return f
}

// Call is one tools/call: the target as the caller named it and the final arguments, the ones that will be
// sent. Args holds JSON values as encoding/json decodes them; numbers are best decoded as json.Number, which
// keeps every digit. The engine neither keeps nor changes it.
type Call struct {
	Server, Name string
	Args         map[string]any
}

// Request is what the caller of the engine knows at the time of a call. A nil *Request is the zero Request:
// nobody to ask, no baseline, no taint, no attributes. The engine neither keeps nor changes it.
type Request struct {
	// HasApprover says that somebody will be asked when the answer is [Ask]. Without an approver the answer
	// is never Ask.
	HasApprover bool

	// Approved is the approved baseline. In [Policy.Evaluate] nil means that every tool is new; in a
	// [ViewSnapshot] nil means the engine's own baseline.
	Approved *Baseline

	// Taint holds the ids of the servers whose output is in the model's context.
	Taint []string

	// Attributes say who the caller is: JSON values by key.
	Attributes map[string]any
}

// noRequest stands in for a nil *Request. It is never written to.
var noRequest = new(Request)

// or returns r, or the zero Request for nil.
func (r *Request) or() *Request {
	if r == nil {
		return noRequest
	}
	return r
}

// ignoreSet returns ids as a set where they are many, else nil: a few are found faster one by one.
func ignoreSet(ids []string) map[string]bool {
	if len(ids) <= 8 {
		return nil
	}
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// tainted reports whether the taint set holds a server other than own and not in ignore. The set, where there is one,
// holds the same ids as ignore.
func (r *Request) tainted(own string, ignore []string, set map[string]bool) bool {
	if set != nil {
		for _, id := range r.Taint {
			if id != own && !set[id] {
				return true
			}
		}
		return false
	}
next:
	for _, id := range r.Taint {
		if id == own {
			continue
		}
		for _, skip := range ignore {
			if id == skip {
				continue next
			}
		}
		return true
	}
	return false
}
