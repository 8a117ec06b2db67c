// Package hub puts the engine in front of MCP servers: a [Guard] is middleware
// for any server of the Go SDK, and what a caller may not see or do stops there.
//
// This file holds the types that the parts of a hub share.
//
// # How a request goes
//
// A request comes in; [Identify] says who is asking; one engine.Snapshot is taken
// and used to the end; the exposed name is looked up in [Names]; the engine
// decides; an [Approver] is asked where the decision is to ask; and what was
// judged, as it was judged, goes to the next handler with a [Judged] in its
// context. An [Observer] hears of it all.
//
// # What is behind the guard
//
// The next handler is how an allowed request reaches its server. On a server
// with registered tools that is the SDK's own. A hub adds a second middleware
// behind the guard's that answers tools/call, resources/read and the others
// itself, and takes the target and the arguments from [JudgedFrom]:
//
//	server.AddReceivingMiddleware(guard.Middleware(), backend)
//	server.AddSendingMiddleware(guard.SendingMiddleware())
//
// Two things are left to the embedder. Set the server's Capabilities, for tools,
// prompts and resources alike: left to itself the SDK says by them whether there
// is any tool at all, hidden or not. And when a server's list changes, refresh the
// engine and the table of names before the sessions are told.
//
// What a tool answers is not looked at: a result may name what its caller does not see.
package hub

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// Caller is who a request comes from. The zero Caller is anonymous, in the view "".
type Caller struct {
	Principal  string         // who it is: approvals are bound to it, the audit log names it
	View       string         // the engine's view the caller belongs to; one that is not configured sees nothing
	Attributes map[string]any // JSON values for attribute rules; not changed once handed out
	Taint      []string       // the servers whose output is in the model's context
}

// Identify says who a request comes from. It is called once for every request that lists or touches something.
//
// An error, and a panic, mean that the caller sees nothing and may do nothing. The error goes to the Observer only.
// It must be safe for concurrent use. In-memory and stdio sessions have an empty session id and a nil Extra.
type Identify func(ctx context.Context, method string, req mcp.Request) (Caller, error)

// Resolve says which server a resource URI, or the text of a URI template, as exposed to callers, belongs to, and under
// which URI that server and the policy know it: Target.Name. What it does not know is not found; nothing is guessed.
// It must be safe for concurrent use and must not block.
type Resolve func(uri string) (engine.Target, bool)

// ApprovalRequest is one decision to ask, with everything a human needs to answer it. An Approver must not change it.
type ApprovalRequest struct {
	Caller  Caller
	Kind    engine.Kind
	Target  engine.Target // of a resource: its URI in Name
	Exposed string        // the name the caller used: escape it before it is shown

	Generation  uint64             // of the snapshot it was judged by
	Decision    engine.Decision    // always an ask
	Fingerprint engine.Fingerprint // of the tool as it is now; "" where none can be computed, and for other kinds
	Tool        *engine.Tool       // nil for resources and prompts; must not be changed

	// Args are the arguments in canonical JSON, byte for byte what will be sent; nil where there are none.
	Args []byte

	// ApprovedDefinition is the definition the tool was approved with, where the embedder keeps it.
	ApprovedDefinition json.RawMessage

	// Baseline is the one the call was judged by; nil is empty.
	Baseline *engine.Baseline

	// Remembered is what the decision would be if the baseline held the tool as it is now: an allow where approving the
	// tool for good would make a difference. It is a deny where the tool has no fingerprint, and for other kinds.
	Remembered engine.Decision

	Session *mcp.ServerSession
	Request mcp.Request // the call as it came in: nothing in it has been judged but Args

	// Responses and State are what the caller sent back to an earlier Pending. They are the caller's claim.
	Responses mcp.InputResponseMap
	State     string
}

// Verdict is what became of an ApprovalRequest. The zero Verdict is Refused.
type Verdict uint8

// The verdicts.
const (
	Refused  Verdict = iota
	Approved         // run it, this once
	Pending          // ask the caller for input, by the answer to this very request; it comes back as a new request
)

// String returns refused, approved or pending.
func (v Verdict) String() string {
	switch v {
	case Approved:
		return "approved"
	case Pending:
		return "pending"
	default:
		return "refused"
	}
}

// Approval is an answer. The zero Approval refuses.
type Approval struct {
	Verdict Verdict

	// Remember says that the human wants the tool allowed from now on. Whoever made the Approval has seen to it; here it
	// is for the Observer.
	Remember bool

	// By names who decided, where that is known; for the Observer.
	By string

	// Err is what went wrong although there is a verdict, or why it is Refused; for the Observer.
	Err error

	// Message goes to the model when the verdict is Refused, in place of the standard sentence.
	Message string

	// Inputs and State go to the caller when the verdict is Pending: a multi-round-trip answer. Sessions older than
	// 2026-07-28 cannot take one, and there Pending counts as Refused.
	Inputs mcp.InputRequestMap
	State  string
}

// Approver asks somebody. Anything but [Approved] without an error means that the call does not run.
//
// Approve may block as long as ctx lives. A panic counts as an error. After an approval the guard judges the call again
// by the snapshot of that moment, so that what was allowed while a human thought is not run where it has been denied
// or has become another tool since. It must be safe for concurrent use.
//
// An Approver may also be an [Asker] and a [Continuer].
type Approver interface {
	Approve(ctx context.Context, r *ApprovalRequest) (Approval, error)
}

// Asker is an [Approver] that cannot ask everybody, such as one that asks through the caller's own client.
//
// CanAsk is called once for every request that is judged, and before a session is told that a list changed. No, and a
// panic, mean that the request has no approver: the engine then denies where it would ask, and resources and prompts
// it would ask about are not there. The answer must depend on the caller and the session alone, or what is listed and
// what can be called are not the same. It must be safe for concurrent use and must not block; the session may be nil.
type Asker interface {
	CanAsk(ctx context.Context, c Caller, ss *mcp.ServerSession) bool
}

// Continuer is an [Approver] that lets an approved call go on when its server answers by asking for input: the answer to
// that comes as another call, which nobody has approved. Without it such a call ends with [ErrCannotGoOn].
type Continuer interface {
	// Suspend returns a state for the caller in place of the server's: one that stands for the approval of r and holds
	// the server's state. An error and "" mean that the call ends.
	Suspend(ctx context.Context, r *ApprovalRequest, state string) (string, error)

	// Resume reports whether r, as it is judged now, is the approved call going on, by r.State, and returns the server's
	// state. It must say yes once at most for every state. A panic is a no.
	Resume(ctx context.Context, r *ApprovalRequest) (state string, ok bool)
}

// Result says how a request ended, for an Event.
type Result string

// The results.
const (
	ResultPassed    Result = "passed"    // a method that lists and touches nothing
	ResultListed    Result = "listed"    // a filtered list was returned
	ResultRan       Result = "ran"       // it was let through; Event.Err is what came of it
	ResultHidden    Result = "hidden"    // not there for this caller: unknown, or hidden, or a denied resource or prompt
	ResultDenied    Result = "denied"    // a tool call was denied
	ResultRefused   Result = "refused"   // a human, or the lack of an answer, refused it
	ResultPending   Result = "pending"   // the caller was asked for input
	ResultMalformed Result = "malformed" // the arguments could be read in more than one way
	ResultMethod    Result = "method"    // a method the guard does not know
)

// Event is one request, for audit and metrics. It holds no argument values unless [GuardOptions].Arguments asks for them.
type Event struct {
	Time        time.Time
	Duration    time.Duration // of all of it
	Backend     time.Duration // of that, in the next handler
	Waited      time.Duration // of that, in the Approver
	Generation  uint64        // of the snapshot that had the last word
	Method      string
	Session     string // "" in memory and over stdio
	Caller      Caller
	IdentifyErr error // why the caller could not be identified

	Result  Result
	Kind    engine.Kind
	Exposed string        // the name or URI the caller used, any bytes
	Target  engine.Target // zero where it is unknown

	// Decided says that Decision is one: not of lists, of unknown targets and of tools the filter hides.
	Decided  bool
	Decision engine.Decision

	ArgsDigest string          // "sha256:" and hex of the canonical arguments; "" where there are none
	Arguments  json.RawMessage // those, where they are asked for; must not be changed
	Asked      bool            // an Approver was asked
	Resumed    bool            // it went on by an earlier approval
	Approval   Approval
	IsError    bool  // the tool ran and said that it failed
	Err        error // what the caller was not told, or the handler's error

	Listed, Total int // of lists: what was shown on this page, and on all of them
}

// Observer hears of every request when it is over, in the request's goroutine. It must be safe for concurrent use, must
// not block and must not change what it is given. A panic is swallowed.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// Judged is what the guard let through: the handler behind it must act on this and on nothing else.
type Judged struct {
	Generation  uint64
	Caller      Caller
	Kind        engine.Kind
	Target      engine.Target
	Fingerprint engine.Fingerprint // of the tool that was judged; a backend refuses to call another one
	Args        []byte             // canonical JSON; nil where there are none; must not be changed
	Decision    engine.Decision
	Approved    bool // a human said yes
}

type judgedKey struct{}

// JudgedFrom returns what the guard let through, and whether there is a guard before this handler at all.
func JudgedFrom(ctx context.Context) (*Judged, bool) {
	j, ok := ctx.Value(judgedKey{}).(*Judged)
	return j, ok
}

// GuardOptions are the options of a [Guard]. Only Engine is required; without the others less is seen, not more.
type GuardOptions struct {
	Engine *engine.Engine

	// Names returns the current table of exposed tool names, Prompts that of prompts. Nil: there are none.
	Names   func() *Names
	Prompts func() *Names

	// Resources and Templates say where a URI and a URI template belong. Nil: there are none.
	Resources Resolve
	Templates Resolve

	// Identify says who is asking. Nil: [IdentifyToken].
	Identify Identify

	// Approver answers where the decision is to ask. Nil: nobody does, and the engine denies.
	Approver Approver

	// Observer hears of every request. Nil: nobody does.
	Observer Observer

	// Arguments puts the arguments of calls into the events: they may hold anything, secrets too.
	Arguments bool

	// OnlyApproved hides every tool that is not in the baseline as it is now, from lists and calls: the description of
	// a tool reaches the model long before a pin guards the call.
	OnlyApproved bool

	// Definition returns what a list says of a tool, under its exposed name, or false to leave it out: a list is then
	// made from the snapshot it is filtered by. Nil: definitions come from the next handler's list.
	// The result is copied before the name is set; it must not be nil with true.
	Definition func(t *engine.Tool) (*mcp.Tool, bool)

	// ApprovedDefinition returns the definition a tool was approved with, for people. Nil: it is not known.
	ApprovedDefinition func(t engine.Target) json.RawMessage

	// PageSize is the number of entries on a page of a list. Zero: 1,000, as in the SDK.
	PageSize int

	// Methods are further methods that pass, such as custom ones that touch nothing the engine knows of.
	Methods []string
}
