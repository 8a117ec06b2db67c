// States: what a caller has to bring back with an answer.
//
// A state says little: when it expires, and a random number that makes it one of a kind. What it is good for is in the
// signature alone, which is taken over the request as it is judged; the request that comes back is judged anew, and
// if anything of it is different, the signature does not fit. So nothing in a state can be believed by mistake.
//
//	base64url( version | mark | nonce 16 | expiry 8 | inner … | HMAC-SHA256 32 )

package approval

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash"
	"time"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
)

const (
	stateVersion = 1
	markQuestion = 'q' // of a question
	markContinue = 'c' // of an approved call that goes on; inner is its server's state

	nonceSize  = 16
	headSize   = 2 + nonceSize + 8
	maxState   = 1 << 20 // a server's state is in memory already; this bounds what is decoded of a caller's
	macDomain  = "penstock approval state 1\n"
	bindDomain = "penstock approval binding 1\n"
)

var errLargeState = fmt.Errorf("the server's state is too large to be sealed: at most %d bytes in base64", maxState)

type nonce [nonceSize]byte

// state is what a state says.
type state struct {
	nonce  nonce
	expiry time.Time
	inner  string
}

func newState(expiry time.Time) state {
	s := state{expiry: expiry}
	_, _ = rand.Read(s.nonce[:]) // never fails
	return s
}

type signer struct{ key []byte }

// binding stands for everything a state is good for.
type binding [sha256.Size]byte

// seal returns a state for what binding stands for.
func (g signer) seal(mark byte, s state, b binding, inner string) string {
	out := make([]byte, 0, headSize+len(inner)+sha256.Size)
	out = append(out, stateVersion, mark)
	out = append(out, s.nonce[:]...)
	out = binary.BigEndian.AppendUint64(out, uint64(s.expiry.UnixMilli()))
	out = append(out, inner...)
	out = append(out, g.mac(out, b)...)
	return base64.RawURLEncoding.EncodeToString(out)
}

// open returns what a state says, if it was sealed with this mark for what binding stands for.
func (g signer) open(mark byte, text string, b binding) (state, bool) {
	var s state
	if text == "" || len(text) > maxState {
		return s, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < headSize+sha256.Size || base64.RawURLEncoding.EncodeToString(raw) != text {
		return s, false // the decoder skips newlines and takes other last characters for the same
	}
	body, mac := raw[:len(raw)-sha256.Size], raw[len(raw)-sha256.Size:]
	if !hmac.Equal(mac, g.mac(body, b)) || body[0] != stateVersion || body[1] != mark {
		return s, false
	}
	copy(s.nonce[:], body[2:])
	s.expiry = time.UnixMilli(int64(binary.BigEndian.Uint64(body[2+nonceSize:])))
	s.inner = string(body[headSize:])
	return s, true
}

// mac is taken over the domain, the binding, which has a fixed size, and the rest.
func (g signer) mac(body []byte, b binding) []byte {
	h := hmac.New(sha256.New, g.key)
	h.Write([]byte(macDomain))
	h.Write(b[:])
	h.Write(body)
	return h.Sum(nil)
}

// bound digests fields so that no two lists of fields are the same text.
type bound struct{ h hash.Hash }

func (b bound) text(fields ...string) {
	for _, f := range fields {
		b.h.Write(binary.AppendUvarint(nil, uint64(len(f))))
		b.h.Write([]byte(f))
	}
}

// bindingOf stands for who asks for what, and for how it is judged. A 2026-07-28 session has no id; where there is one
// it counts.
func bindingOf(r *hub.ApprovalRequest) binding {
	b := bound{sha256.New()}
	session := ""
	if r.Session != nil {
		session = r.Session.ID()
	}
	b.text(bindDomain, r.Caller.Principal, r.Caller.View, session,
		r.Kind.String(), r.Target.Server, r.Target.Name, r.Exposed, string(r.Fingerprint))
	if r.Args == nil {
		b.text("no arguments")
	} else {
		sum := sha256.Sum256(r.Args)
		b.text("arguments", string(sum[:]))
	}
	rule := r.Decision.Rule()
	b.text(r.Decision.Action.String(), r.Decision.Source.String(), r.Decision.Reason.String(), isNew(r.Decision),
		rule.List.String(), rule.ID, rule.Text, rule.Message)
	return binding(b.h.Sum(nil))
}

func isNew(d engine.Decision) string {
	if d.New {
		return "new"
	}
	return ""
}

// binding stands for the question, too: what was said and what could be chosen.
func (q *question) binding(r *hub.ApprovalRequest) binding {
	b, base := bound{sha256.New()}, bindingOf(r)
	b.text(string(base[:]), q.text)
	b.text(q.choices...)
	return binding(b.h.Sum(nil))
}
