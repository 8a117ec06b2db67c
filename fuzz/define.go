package fuzz

// Kind is what a rule or a target is about.
type Kind string

// The kinds.
const (
	Tool     Kind = "tool"
	Resource Kind = "resource"
	Prompt   Kind = "prompt"
)

// Filter defines a filter as a document does.
type Filter struct {
	Include, Exclude []Rule
}

// Policy defines a policy as a document does. The zero value has every option at its default.
type Policy struct {
	AllowAll      bool   // the policy that AllowAll returns; nothing else counts then
	Scope         []Kind // nil: tools
	Default       string // "", "ask" or "deny"
	NoPins        bool   // pin_tools: false
	AllowNewTools bool
	Trusted       Trust
	Deny, Ask     []Rule
	Allow         []Rule
}

// Trust defines the option trusted: all of it, the servers of a list, or a map of id to bool.
type Trust struct {
	All bool
	IDs []string // trusted
	Off []string // ids that a map names as not trusted
}

// Form is how a rule is written.
type Form string

// The forms.
const (
	Pattern    Form = "pattern"
	Regexp     Form = "regexp"
	Predicate  Form = "predicate"
	Args       Form = "args"
	Attribute  Form = "attribute"
	Annotation Form = "annotation"
	Tainted    Form = "tainted"
	All        Form = "all"
	Named      Form = "named"
)

// Rule defines one rule. Which fields count depends on the form.
type Rule struct {
	Form    Form
	Text    string   // Pattern: the pattern; Regexp: the expression; Predicate: the name; Annotation: the key
	Kind    Kind     // Regexp
	Server  string   // Regexp: the server's glob
	Want    bool     // Annotation
	Ignore  []string // Tainted
	Keys    []Key    // Args, Attribute
	Rules   []Rule   // All: the members; Named: the one rule
	ID      string   // Named
	Message string   // Named
}

// Key is the conditions on one argument or attribute.
type Key struct {
	Key   string
	Conds []Cond
}

// Cond is one condition: an operator and its value.
type Cond struct {
	Op    string // equals, in, regexp, contains, inside, outside, exists, each, any
	Value any    // a JSON value: nil, bool, string, json.Number, []any, map[string]any
	Conds []Cond // each, any: in place of a value
}

// Target is what is judged: a tool, or the URI of a resource or the name of a prompt.
type Target struct {
	Kind        Kind
	Server      string
	Name        string // or the URI
	Annotations string // what the server says of a tool, as JSON text; "" is nothing
	Fingerprint string // set by the embedder
	Raw         string // the definition, as JSON text; "" is none
}

// Call is the target as the caller of a tool names it.
type Call struct {
	Server, Name string
}

// Approval is one entry of a baseline.
type Approval struct {
	Server, Name string
	Fingerprint  string
	Of           string // a raw definition to fingerprint, in place of Fingerprint
}

// Request is what the caller of the engine knows at the time of a call.
type Request struct {
	HasApprover bool
	Approved    []Approval // nil: no baseline
	Taint       []string
	Args        map[string]any // nil: none
	Attributes  map[string]any
}

// Case is one question. A filter is asked about tools only.
type Case struct {
	Filter  *Filter
	Policy  *Policy
	Target  Target
	Call    *Call // nil: the target itself
	Request Request
}

// Outcome is the answer to a [Case].
type Outcome struct {
	Visible, StaticVisible bool // of a filter

	Action, Source, Reason string // of a policy
	Rule                   string // the deciding rule's id, "" where no rule decided
	New                    bool
	Failed                 bool // the decision carries the error of a predicate

	Refused bool // an error came with the decision
}
