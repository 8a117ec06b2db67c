// What callers are told unasked, one caller apart from the others.
//
// The SDK tells one session after the other, in the goroutine of whoever has the news: of a server whose resource changed,
// or of the tables. Naive, then, is what it does: a session that does not read keeps all behind it from hearing anything,
// and the server that spoke from being looked after. So the news are put aside, and each session is told by a goroutine
// of its own, which is there only while there is something to tell. What waits is bounded without being dropped: the
// same news twice are one.

package gateway

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// notices are the news that wait. The zero value is ready.
type notices struct {
	mu   sync.Mutex
	wait map[*mcp.ServerSession]*news // sessions that are being told something
}

// news are what one session has not been told yet.
type news struct {
	order []notice
	last  map[notice]mcp.Request // the latest of each
}

// notice says what news are about: those that a later one replaces are equal.
type notice struct {
	method string
	uri    string // of resources/updated
}

// middleware is sending middleware, and the outermost: what is behind it judges when it is about to be sent.
func (n *notices) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, out mcp.Request) (mcp.Result, error) {
		about := notice{method: method}
		switch method {
		case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		case "notifications/resources/updated":
			p, ok := out.GetParams().(*mcp.ResourceUpdatedNotificationParams)
			if !ok || p == nil {
				return nil, nil
			}
			about.uri = p.URI
		default:
			return next(ctx, method, out)
		}
		ss, ok := out.GetSession().(*mcp.ServerSession)
		if !ok {
			return nil, nil
		}
		if n.add(ss, about, out) {
			go n.tell(ss, next)
		}
		return nil, nil
	}
}

// add notes news, and reports whether somebody has to begin to tell them.
func (n *notices) add(ss *mcp.ServerSession, about notice, out mcp.Request) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.wait[ss]
	begin := w == nil
	if begin {
		w = &news{last: map[notice]mcp.Request{}}
		if n.wait == nil {
			n.wait = map[*mcp.ServerSession]*news{}
		}
		n.wait[ss] = w
	}
	if _, waits := w.last[about]; !waits {
		w.order = append(w.order, about)
	}
	w.last[about] = out
	return begin
}

// take returns what is to be told next, and forgets the session where that is nothing.
func (n *notices) take(ss *mcp.ServerSession) (string, mcp.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.wait[ss]
	if len(w.order) == 0 {
		delete(n.wait, ss)
		return "", nil
	}
	about := w.order[0]
	w.order = w.order[1:]
	out := w.last[about]
	delete(w.last, about)
	return about.method, out
}

// tell tells a session what waits for it, until nothing does. What does not arrive is not told again, as in the SDK.
func (n *notices) tell(ss *mcp.ServerSession, next mcp.MethodHandler) {
	for {
		method, out := n.take(ss)
		if out == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), takeTimeout)
		_, _ = next(ctx, method, out)
		cancel()
	}
}
