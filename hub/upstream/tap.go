// What goes between the SDK and a server, as bytes.
//
// The SDK decodes a list all at once, so that one broken tool fails it, and it decodes numbers as float64. So what a
// server sends is looked at before the SDK does, and what must come through whole is taken out and kept:
//
//	a response to a list          all of it; the SDK gets an empty list
//	a response to tools/call      structuredContent
//	a notification                all of it, and it is handled here, in the order it came: the SDK would queue without bound,
//	                              and panics on some that lack params
//	a request                     nothing, where too many of the server's own wait for their answer: the SDK would queue these, too
//
// Everything else goes through as it came. Lines and events that are not JSON-RPC are counted and dropped.

package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// holder receives what was taken out of the response to one request. It travels in the context of the request.
type holder struct {
	mu  sync.Mutex
	raw json.RawMessage // of a list: the result; of tools/call: structuredContent
	id  string          // of the request; "" before it is sent

	over func(error) // hears that the request has its response, or never will, maybe more than once; must not block
}

func (h *holder) set(raw []byte) {
	h.mu.Lock()
	h.raw = raw
	h.mu.Unlock()
}

func (h *holder) get() json.RawMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.raw
}

type holderKey struct{}

// withHolder returns a context that takes a holder along with a request.
func withHolder(ctx context.Context) (context.Context, *holder) {
	h := &holder{}
	return context.WithValue(ctx, holderKey{}, h), h
}

// empty is what the SDK is given for a list.
var empty = map[string]string{
	"tools/list":               `{"tools":[]}`,
	"prompts/list":             `{"prompts":[]}`,
	"resources/list":           `{"resources":[]}`,
	"resources/templates/list": `{"resourceTemplates":[]}`,
}

// maxPending bounds the requests whose response is awaited: those that are never answered and never given up.
const maxPending = 100_000

// pending is a request that has no response yet.
type pending struct {
	method string
	holder *holder
}

// tap looks at the messages of one connection.
type tap struct {
	notify func(method string, params []byte) // hears of every notification; must not block

	mu      sync.Mutex
	pending map[string]pending // by the request's id, as JSON
	asked   map[string]bool    // the server's own requests that were not answered, by id, as JSON
	spoke   bool               // the server has sent a JSON-RPC message: it lives
	junk    int                // how many lines or events were dropped
	last    time.Time          // when that was reported last
	sample  string
}

func newTap() *tap { return &tap{pending: map[string]pending{}} }

func idText(id jsonrpc.ID) string {
	b, err := json.Marshal(id.Raw())
	if err != nil {
		return ""
	}
	return string(b)
}

// plainID returns an id as idText does: a server may write 1.0 for 1.
func plainID(raw []byte) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return ""
	}
	id, err := jsonrpc.MakeID(v)
	if err != nil {
		return ""
	}
	return idText(id)
}

// maxAsked bounds the requests of a server that are not answered yet. The hub offers nothing that could be asked for, so
// that they are pings, and refused; but a server that asks and does not read the answers would fill the memory.
const maxAsked = 64

// asks notes a request of the server, and reports whether the SDK is to see it: neither one too many, nor one whose id is
// taken.
func (t *tap) asks(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id == "" || t.asked[id] || len(t.asked) >= maxAsked {
		return false
	}
	if t.asked == nil {
		t.asked = map[string]bool{}
	}
	t.asked[id] = true
	return true
}

// replied is called when an answer to a request of the server has gone out, or never will.
func (t *tap) replied(id string) {
	t.mu.Lock()
	delete(t.asked, id)
	t.mu.Unlock()
}

// sent notes a request that goes out.
func (t *tap) sent(ctx context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return nil
	}
	return t.note(ctx, idText(req.ID), req.Method)
}

// note notes a request with an id.
func (t *tap) note(ctx context.Context, id, method string) error {
	h, _ := ctx.Value(holderKey{}).(*holder)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending) >= maxPending {
		return fmt.Errorf("%w: %d requests have no answer", ErrTooMuch, len(t.pending))
	}
	t.pending[id] = pending{method, h}
	if h != nil {
		h.mu.Lock()
		h.id = id
		h.mu.Unlock()
	}
	return nil
}

// forget is called when a request is over, answered or not.
func (t *tap) forget(h *holder) {
	h.mu.Lock()
	id := h.id
	h.mu.Unlock()
	t.mu.Lock()
	if p, ok := t.pending[id]; ok && p.holder == h {
		delete(t.pending, id)
	}
	t.mu.Unlock()
}

// alive reports whether the server has answered, or said, anything.
func (t *tap) alive() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spoke
}

var errJunk = errors.New("it is not a JSON-RPC message")

// received looks at one message and returns what the SDK is to see of it: nil for nothing. id is the id of a response, as
// JSON, and "" for anything else. What is not JSON-RPC at all is errJunk, and counted.
func (t *tap) received(msg []byte) (out []byte, id string, err error) {
	ms, err := members(msg)
	if err != nil {
		return nil, "", t.isJunk(msg)
	}
	version, _ := find(ms, "jsonrpc")
	if v, ok := text(version); !ok || v != "2.0" {
		return nil, "", t.isJunk(msg)
	}
	rawID, hasID := find(ms, "id")
	if rawMethod, ok := find(ms, "method"); ok > 0 {
		method, isText := text(rawMethod)
		if !isText || ok > 1 {
			return nil, "", t.isJunk(msg)
		}
		t.mu.Lock()
		t.spoke = true
		t.mu.Unlock()
		if hasID > 0 && !isNull(rawID) {
			if out, _, err = check(msg, "", t); err == nil && (hasID > 1 || !t.asks(plainID(rawID))) {
				return nil, "", t.isJunk(msg)
			}
			return out, "", err
		}
		params, _ := find(ms, "params")
		t.notify(method, params)
		return nil, "", nil
	}
	if hasID != 1 {
		return nil, "", t.isJunk(msg)
	}
	id = plainID(rawID)
	t.mu.Lock()
	t.spoke = true
	p, known := t.pending[id]
	delete(t.pending, id)
	t.mu.Unlock()
	if !known {
		return nil, id, nil // nobody waits for it, or no longer
	}
	_, isError := find(ms, "error")
	if p.holder != nil && p.holder.over != nil {
		if isError > 0 {
			p.holder.over(errRefused)
		} else {
			p.holder.over(io.EOF)
		}
	}
	if p.holder != nil && isError == 0 && (p.method == "tools/call" || empty[p.method] != "") {
		msg, err = p.take(id, ms)
		if err != nil {
			return failure(id, err), id, nil
		}
	}
	return check(msg, id, t)
}

var errRefused = errors.New("the server refuses to be listened to")

// take takes out of a result what is kept, and returns the message without it.
func (p pending) take(id string, ms []member) ([]byte, error) {
	result, times := find(ms, "result")
	if times != 1 {
		return nil, errors.New("the response has not one result")
	}
	rest := result
	if e, isList := empty[p.method]; isList {
		p.holder.set(result)
		rest = []byte(e)
	} else if p.method == "tools/call" {
		rs, err := members(result)
		if err != nil {
			return nil, fmt.Errorf("the result: %w", err)
		}
		content, times := find(rs, "structuredContent")
		switch {
		case times > 1:
			return nil, errors.New("the result has structuredContent more than once")
		case times == 1 && !isNull(content):
			p.holder.set(content)
			rest = object(without(rs, "structuredContent"))
		}
	}
	return object([]member{{"jsonrpc", []byte(`"2.0"`)}, {"id", []byte(id)}, {"result", rest}}), nil
}

// check returns a message that the SDK can decode. A response that it cannot decode becomes an error for whoever waits.
func check(msg []byte, id string, t *tap) ([]byte, string, error) {
	err := guarded(func() error { _, err := jsonrpc.DecodeMessage(msg); return err })
	switch {
	case err == nil:
		return msg, id, nil
	case id == "":
		return nil, "", t.isJunk(msg)
	default:
		return failure(id, errors.New("the response cannot be read")), id, nil
	}
}

// failure is a response that says what was wrong with the server's.
func failure(id string, err error) []byte {
	text, _ := json.Marshal(err.Error())
	return object([]member{{"jsonrpc", []byte(`"2.0"`)}, {"id", []byte(id)},
		{"error", []byte(fmt.Sprintf(`{"code":%d,"message":%s}`, jsonrpc.CodeInternalError, text))}})
}

func (t *tap) isJunk(msg []byte) error {
	t.mu.Lock()
	t.junk++
	t.sample = shown(string(msg[:min(len(msg), maxShown+1)]))
	t.mu.Unlock()
	return errJunk
}

// reportEvery is how often junk is reported.
const reportEvery = 10 * time.Second

// junkReport returns how much junk there was and how some of it looked, and whether it is time to say so.
func (t *tap) junkReport(now time.Time) (n int, sample string, due bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if due = t.junk > 0 && now.Sub(t.last) >= reportEvery; due {
		t.last = now
	}
	return t.junk, t.sample, due
}

// requestOf returns the id of a message that goes out, as JSON, and the method of a request; an answer has none.
func requestOf(body []byte) (id, method string) {
	ms, err := members(body)
	if err != nil {
		return "", ""
	}
	rawID, _ := find(ms, "id")
	rawMethod, _ := find(ms, "method")
	method, _ = text(rawMethod)
	if len(rawID) > 0 {
		id = plainID(rawID)
	}
	return id, method
}
