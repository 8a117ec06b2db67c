// Package approval asks people about calls: an [Elicitor] is a hub.Approver that asks through the caller's own client, by
// elicitation, and a [Store] keeps what was approved for good in a baseline file.
//
// # Two ways to ask
//
// A session older than 2026-07-28 is asked while the call waits. On a newer one the answer to the call is the question,
// with a state; the client asks its user and sends the call again, with the answer and the state. That second call is
// written by the caller from beginning to end. So the state is signed, and good once, for a while, and only for the same
// caller, target, arguments and tool, judged in the same way and asked about with the same words.
//
// # What it cannot do
//
// The question goes to the caller's client, which is trusted to show it to a person: a client that answers by itself
// cannot be told from one whose user answers fast.
package approval

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/hub"
)

// Options are the options of an [Elicitor]. The zero value is the documented default.
type Options struct {
	// Key signs the states of questions. Empty: a random one, which no other process has, so that a state is good once
	// and no more. With a key of your own states outlive a restart and may be answered by another hub that has the key;
	// but what was used is remembered by each process alone.
	Key []byte

	// Expiry is how long a person has to answer. Zero or less: 5 minutes.
	Expiry time.Duration

	// MaxOpen is how many questions may wait for one principal of a view; a call that needs another one is refused.
	// Callers without a principal count as one. A question to a 2026-07-28 session that nobody answers waits until it
	// expires. Zero or less: 8.
	MaxOpen int

	// Remember approves the tool for good, such as [Store.Remember]. Nil: that is not offered. Where it fails the call
	// runs all the same, once, since that much was approved for certain; hub.Approval.Err says what went wrong, and
	// the next call is asked about again.
	Remember func(ctx context.Context, r *hub.ApprovalRequest) error

	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

const (
	defaultExpiry  = 5 * time.Minute
	defaultMaxOpen = 8
)

// Elicitor asks by elicitation. It is a hub.Approver, a hub.Asker and a hub.Continuer. Make one with [New]; a nil *Elicitor
// and the zero Elicitor ask nobody and refuse. It is safe for concurrent use.
type Elicitor struct {
	o      Options
	signer signer
	open   openQuestions
	used   usedStates
}

// New returns an Elicitor.
func New(o Options) *Elicitor {
	if o.Expiry <= 0 {
		o.Expiry = defaultExpiry
	}
	if o.MaxOpen <= 0 {
		o.MaxOpen = defaultMaxOpen
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	key := append([]byte(nil), o.Key...)
	if len(key) == 0 {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails
	}
	o.Key = nil
	return &Elicitor{o: o, signer: signer{key: key}}
}

// The reasons for which a call is refused, in hub.Approval.Err.
var (
	ErrCannotElicit = errors.New("the client takes no questions (elicitation forms)")
	ErrDeclined     = errors.New("it was declined")
	ErrUnexpected   = errors.New("the answer is none of the choices")
	ErrTooLarge     = fmt.Errorf("what would have to be shown is larger than %d bytes", maxExact)
	ErrBusy         = errors.New("too many questions wait for an answer")
	ErrExpired      = errors.New("nobody answered in time")
	ErrUsed         = errors.New("the state of a question was used a second time")
)

// What the model is told, where there is more to say than that nobody approved.
const (
	textTooLarge = "This call needs the approval of a person, and it is too large to be shown to one. A call with smaller arguments can be asked about."
	textBusy     = "This call needs the approval of a person, and too many questions wait for an answer already. Try again when they are answered."
	textExpired  = "This call needs the approval of a person, and nobody answered in time."
)

func refused(err error, text string) hub.Approval {
	return hub.Approval{Verdict: hub.Refused, Message: text, Err: err}
}

// CanAsk reports whether the session's client said that it takes elicitation forms: in initialize, or with the first
// request of a 2026-07-28 session.
func (e *Elicitor) CanAsk(_ context.Context, _ hub.Caller, ss *mcp.ServerSession) bool {
	if e == nil || e.signer.key == nil || ss == nil {
		return false
	}
	p := ss.InitializeParams()
	return p != nil && takesForms(p.Capabilities)
}

// takesForms reports whether a client takes elicitation forms. One that names no kind of elicitation does: that is how
// it was before there were kinds.
func takesForms(c *mcp.ClientCapabilities) bool {
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// Approve asks about r, or reads the answer to what was asked before. It returns no errors: hub.Approval.Err is why a call
// was refused.
//
// On a 2026-07-28 session a state that is not one of this call as it is judged now, or has expired, is as good as none,
// and the question is asked (again): whatever was answered, it was not this question. Only an answer that declines
// needs no state. A state that was used before is refused, with whatever answer it comes, since no client sends an
// answer twice; so is one without an answer, or with another one than was asked for, and it counts as used.
//
// Cost: on an older session it blocks until there is an answer, for Expiry at most.
func (e *Elicitor) Approve(ctx context.Context, r *hub.ApprovalRequest) (hub.Approval, error) {
	if e == nil || e.signer.key == nil || r == nil || !e.CanAsk(ctx, r.Caller, r.Session) || !mayAsk(r) {
		return refused(ErrCannotElicit, ""), nil
	}
	q, err := newQuestion(r, e.o.Remember != nil)
	if err != nil {
		return refused(err, textTooLarge), nil
	}
	if hub.Modern(r.Session) {
		return e.byAnswer(ctx, r, q), nil
	}
	return e.bySession(ctx, r, q), nil
}

// mayAsk reports whether the request itself does not take back what the session said: since 2026-07-28 a client says with
// every request what it takes.
func mayAsk(r *hub.ApprovalRequest) bool {
	in, ok := r.Request.(interface {
		ClientCapabilities() *mcp.ClientCapabilities
	})
	return ok && takesForms(in.ClientCapabilities())
}

// bySession asks while the call waits.
func (e *Elicitor) bySession(ctx context.Context, r *hub.ApprovalRequest, q *question) hub.Approval {
	done, ok := e.open.ask(r.Caller, e.o.MaxOpen, e.o.Now(), time.Time{})
	if !ok {
		return refused(ErrBusy, textBusy)
	}
	defer done()
	waiting, cancel := context.WithTimeoutCause(ctx, e.o.Expiry, ErrExpired)
	defer cancel()
	res, err := r.Session.Elicit(waiting, q.params(r.Session.InitializeParams().ProtocolVersion))
	switch {
	case ctx.Err() != nil:
		return refused(ctx.Err(), "")
	case waiting.Err() != nil:
		return refused(ErrExpired, textExpired)
	case err != nil:
		return refused(err, "")
	}
	return e.answered(ctx, r, q, res)
}

// InputKey is the key of the question in a multi-round-trip answer.
const InputKey = "penstock_approval"

// byAnswer asks by the answer to the call, or reads what came back.
func (e *Elicitor) byAnswer(ctx context.Context, r *hub.ApprovalRequest, q *question) hub.Approval {
	now := e.o.Now()
	answer, _ := r.Responses[InputKey].(*mcp.ElicitResult)
	s, ok := e.signer.open(markQuestion, r.State, q.binding(r))
	if !ok || !now.Before(s.expiry) {
		if answer != nil && answer.Action != actionAccept {
			return refused(ErrDeclined, "")
		}
		return e.pending(r, q, now)
	}
	e.open.answered(r.Caller, s.nonce)
	if err := e.used.use(r.Caller, s, now); err != nil {
		return refused(err, "")
	}
	return e.answered(ctx, r, q, answer)
}

// pending asks by the answer to the call.
func (e *Elicitor) pending(r *hub.ApprovalRequest, q *question, now time.Time) hub.Approval {
	s := newState(now.Add(e.o.Expiry))
	if !e.open.issue(r.Caller, e.o.MaxOpen, now, s) {
		return refused(ErrBusy, textBusy)
	}
	return hub.Approval{
		Verdict: hub.Pending,
		Inputs:  mcp.InputRequestMap{InputKey: q.params(hub.ModernProtocol)},
		State:   e.signer.seal(markQuestion, s, q.binding(r), ""),
	}
}

// answered reads an answer, which is there for the first time. Anything but one of the choices refuses.
func (e *Elicitor) answered(ctx context.Context, r *hub.ApprovalRequest, q *question, res *mcp.ElicitResult) hub.Approval {
	choice, err := q.choice(res)
	if err != nil {
		return refused(err, "")
	}
	a := hub.Approval{Verdict: hub.Approved, By: r.Caller.Principal}
	if choice == choiceAlways {
		a.Err = ctx.Err()
		if a.Err == nil {
			a.Err = e.remember(ctx, r)
		}
		a.Remember = a.Err == nil
	}
	return a
}

func (e *Elicitor) remember(ctx context.Context, r *hub.ApprovalRequest) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("Remember panicked: %v", v)
		}
		if err != nil {
			err = fmt.Errorf("approved this once, for it could not be remembered: %w", err)
		}
	}()
	return e.o.Remember(ctx, r)
}

// Suspend seals the state of a server that asks for input of its own during an approved call, for hub.Continuer: the same
// call may go on with it, once, within Expiry, without another question.
func (e *Elicitor) Suspend(_ context.Context, r *hub.ApprovalRequest, state string) (string, error) {
	if e == nil || e.signer.key == nil {
		return "", ErrCannotElicit
	}
	sealed := e.signer.seal(markContinue, newState(e.o.Now().Add(e.o.Expiry)), bindingOf(r), state)
	if len(sealed) > maxState {
		return "", errLargeState
	}
	return sealed, nil
}

// Resume returns a state that Suspend sealed.
func (e *Elicitor) Resume(_ context.Context, r *hub.ApprovalRequest) (string, bool) {
	if e == nil || e.signer.key == nil {
		return "", false
	}
	now := e.o.Now()
	s, ok := e.signer.open(markContinue, r.State, bindingOf(r))
	if !ok || !now.Before(s.expiry) || e.used.use(r.Caller, s, now) != nil {
		return "", false
	}
	return s.inner, true
}
