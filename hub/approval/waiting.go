// What waits and what is over: questions that are open, so that nobody is flooded with them, and states that were used,
// so that none is good twice. Both are bounded, and what does not fit is refused: an entry is dropped only when it has
// expired.

package approval

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/penstock-mcp/penstock/hub"
)

const (
	// maxUsed bounds the states that are remembered as used: some 10 MB, and 200 answers a second for five minutes.
	// maxUsedEach is one principal's share: nobody else is kept from answering by a client that answers by itself.
	maxUsed     = 1 << 16
	maxUsedEach = 1 << 12
	// maxAsking bounds the principals that have open questions.
	maxAsking = 1 << 14
)

// errFull says that no more used states can be remembered; until some expire nothing is approved.
var errFull = errors.New("too many answers in too short a time")

// usedStates are the states that were used and have not expired. The zero value is empty.
type usedStates struct {
	mu    sync.Mutex
	has   map[nonce]bool
	by    map[asked]int // how many of them are whose
	order []usedState   // as they were used: nearly by expiry
}

type usedState struct {
	nonce  nonce
	expiry time.Time
	who    asked
}

// use marks a state as used. It returns ErrUsed for one that was used before: of several at once exactly one goes on.
func (u *usedStates) use(c hub.Caller, s state, now time.Time) error {
	who := asked{c.View, c.Principal}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.has[s.nonce] {
		return ErrUsed
	}
	n := 0
	for ; n < len(u.order) && !now.Before(u.order[n].expiry); n++ {
		old := u.order[n]
		delete(u.has, old.nonce)
		if u.by[old.who]--; u.by[old.who] == 0 {
			delete(u.by, old.who)
		}
	}
	u.order = slices.Delete(u.order, 0, n)
	if len(u.order) >= maxUsed || u.by[who] >= maxUsedEach {
		return errFull
	}
	if u.has == nil {
		u.has, u.by = map[nonce]bool{}, map[asked]int{}
	}
	u.has[s.nonce] = true
	u.by[who]++
	u.order = append(u.order, usedState{s.nonce, s.expiry, who})
	return nil
}

// asked is who is asked.
type asked struct{ view, principal string }

// openQuestions are the questions that wait for an answer. The zero value is empty.
type openQuestions struct {
	mu sync.Mutex
	of map[asked][]state
}

// issue notes a question that waits until it is answered or expires, unless there are max already.
func (o *openQuestions) issue(c hub.Caller, max int, now time.Time, s state) bool {
	who := asked{c.View, c.Principal}
	o.mu.Lock()
	defer o.mu.Unlock()
	open := slices.DeleteFunc(o.of[who], func(s state) bool { return !s.expiry.IsZero() && !now.Before(s.expiry) })
	if len(open) >= max || len(open) == 0 && len(o.of) >= maxAsking && !o.sweep(now) {
		o.set(who, open)
		return false
	}
	o.set(who, append(open, state{nonce: s.nonce, expiry: s.expiry}))
	return true
}

// ask is issue for a question that waits until the returned function is called.
func (o *openQuestions) ask(c hub.Caller, max int, now, expiry time.Time) (done func(), ok bool) {
	s := newState(expiry)
	if !o.issue(c, max, now, s) {
		return nil, false
	}
	return func() { o.answered(c, s.nonce) }, true
}

// answered takes a question out, if it is there.
func (o *openQuestions) answered(c hub.Caller, n nonce) {
	who := asked{c.View, c.Principal}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.set(who, slices.DeleteFunc(o.of[who], func(s state) bool { return s.nonce == n }))
}

func (o *openQuestions) set(who asked, open []state) {
	if len(open) == 0 {
		delete(o.of, who)
		return
	}
	if o.of == nil {
		o.of = map[asked][]state{}
	}
	o.of[who] = open
}

// sweep drops all that expired, and reports whether there is room then.
func (o *openQuestions) sweep(now time.Time) bool {
	for who, open := range o.of {
		o.set(who, slices.DeleteFunc(open, func(s state) bool { return !s.expiry.IsZero() && !now.Before(s.expiry) }))
	}
	return len(o.of) < maxAsking
}
