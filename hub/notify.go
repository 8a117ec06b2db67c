// What a server sends on its own.
//
// A server tells every session that a list changed, also the sessions that see nothing of the change, and sends updates
// of a resource to whoever subscribed once. The first tells of hidden tools, the second goes on after a policy said no.
// So the guard remembers of each session who is behind it and a digest of the lists it was shown, and judges again when
// something is about to be sent. Sessions are held weakly: what is remembered of one goes with it.

package hub

import (
	"context"
	"runtime"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type watches struct {
	mu       sync.Mutex
	sessions map[weak.Pointer[mcp.ServerSession]]*watch
}

// watch is what is remembered of one session. Nothing in it may refer to the session, or it would never go.
type watch struct {
	mu         sync.Mutex
	lists      map[string]*watchedList // by the mark of the list
	caller     Caller                  // who subscribed last
	subscribed int                     // subscriptions that were not ended here; unsubscribing does not count
}

type watchedList struct {
	caller  Caller
	next    mcp.MethodHandler
	digest  uint64 // of the list as the session last saw it, or was last told that it changed
	known   bool
	pending int // lists that are being made: one may be older than a change that is about to be told
}

// of returns the watch of a session, and makes it where create is true.
func (w *watches) of(ss *mcp.ServerSession, create bool) *watch {
	if ss == nil {
		return nil
	}
	key := weak.Make(ss)
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sessions[key]
	if s == nil && create {
		if w.sessions == nil {
			w.sessions = map[weak.Pointer[mcp.ServerSession]]*watch{}
		}
		s = &watch{lists: map[string]*watchedList{}}
		w.sessions[key] = s
		runtime.AddCleanup(ss, w.forget, key)
	}
	return s
}

func (w *watches) forget(key weak.Pointer[mcp.ServerSession]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.sessions, key)
}

// listing notes that a list is being made for a session; what it returns is called when it is there, with its digest, if
// there is one. The digest counts if the list begins at the first page or there is none yet: a session that turns the
// pages still has the first one as it was.
func (w *watches) listing(r *request, mark string, first bool) (done func(digest uint64, known bool)) {
	s := w.of(r.ss, true)
	if s == nil || r.e.IdentifyErr != nil {
		return func(uint64, bool) {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lists[mark]
	if l == nil {
		l = &watchedList{}
		s.lists[mark] = l
	}
	l.caller, l.next = r.caller, r.next
	l.pending++
	return func(digest uint64, known bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		l.pending--
		if known && (first || !l.known) {
			l.digest, l.known = digest, true
		}
	}
}

// subscribing notes who subscribes in a session, before the first update can come.
func (w *watches) subscribing(r *request) (over func()) {
	s := w.of(r.ss, true)
	if s == nil || r.e.IdentifyErr != nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caller = r.caller
	s.subscribed++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.subscribed--
	}
}

// baseLists remembers the lists as they are when a caller starts to listen for changes of them.
func (r *request) baseLists(ss *mcp.ServerSession, want *mcp.NotificationSubscriptions) {
	for _, l := range []struct {
		want bool
		mark string
	}{
		{want.ToolsListChanged, "tools"},
		{want.PromptsListChanged, "prompts"},
		{want.ResourcesListChanged, "resources"},
		{want.ResourcesListChanged, "templates"},
	} {
		if l.want {
			done := r.g.watch.listing(r, l.mark, true)
			done(r.digestOf(l.mark, ss))
		}
	}
}

// digestOf collects a list and returns its digest.
func (r *request) digestOf(mark string, ss *mcp.ServerSession) (uint64, bool) {
	method := r.e.Method
	defer func() { r.e.Method = method }()
	switch mark {
	case "tools":
		r.e.Method = "tools/list"
		return digestList(r, r.tools(ss, nil))
	case "prompts":
		r.e.Method = "prompts/list"
		return digestList(r, r.prompts(ss, nil))
	case "resources":
		r.e.Method = "resources/list"
		return digestList(r, r.resources(ss, nil))
	case "templates":
		r.e.Method = "resources/templates/list"
		return digestList(r, r.templates(ss, nil))
	}
	return 0, false
}

func digestList[T any](r *request, l *list[T]) (uint64, bool) {
	kept, _, err := l.collect()
	if err != nil {
		return 0, false
	}
	return l.digest(r.g.seed, kept), true
}

// listsOf are the lists that a notification speaks of.
var listsOf = map[string][]string{
	"notifications/tools/list_changed":     {"tools"},
	"notifications/prompts/list_changed":   {"prompts"},
	"notifications/resources/list_changed": {"resources", "templates"},
}

// SendingMiddleware returns the guard as sending middleware: see mcp.Server.AddSendingMiddleware. It goes onto the same
// server as [Guard.Middleware].
//
// A list_changed reaches a session if a list that the session was shown has changed for it, and an update of a resource
// if its caller may still know of the resource. A list is compared with what the engine says at that moment, so
// refresh the engine first and tell the server's sessions then. Everything else passes.
func (g *Guard) SendingMiddleware() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, out mcp.Request) (mcp.Result, error) {
			ss, _ := out.GetSession().(*mcp.ServerSession)
			if marks, ok := listsOf[method]; ok {
				tell := false
				for _, mark := range marks {
					tell = g.listChanged(ctx, ss, mark) || tell
				}
				if !tell {
					return nil, nil
				}
			}
			if method == "notifications/resources/updated" {
				p, ok := out.GetParams().(*mcp.ResourceUpdatedNotificationParams)
				if !ok || p == nil || !g.mayUpdate(ctx, ss, p.URI) {
					return nil, nil
				}
			}
			return next(ctx, method, out)
		}
	}
}

// listChanged reports whether a list is another one for a session than it was told, and remembers it.
func (g *Guard) listChanged(ctx context.Context, ss *mcp.ServerSession, mark string) bool {
	s := g.watch.of(ss, false)
	if s == nil {
		return false // it was shown nothing that could have changed
	}
	s.mu.Lock()
	l := s.lists[mark]
	if l == nil {
		s.mu.Unlock()
		return false
	}
	if !l.known {
		defer s.mu.Unlock()
		return l.pending > 0 // the list on its way may be older than the change
	}
	r := &request{g: g, ctx: ctx, ss: ss, next: l.next, caller: l.caller}
	s.mu.Unlock()
	r.ask()
	r.load()
	digest, ok := r.digestOf(mark, ss)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok && l.known && digest == l.digest {
		return false
	}
	if ok {
		l.digest = digest
	}
	return true
}

func (g *Guard) mayUpdate(ctx context.Context, ss *mcp.ServerSession, uri string) bool {
	s := g.watch.of(ss, false)
	if s == nil {
		return false
	}
	s.mu.Lock()
	caller, subscribed := s.caller, s.subscribed
	s.mu.Unlock()
	if subscribed == 0 {
		return false
	}
	r := &request{g: g, ctx: ctx, ss: ss, caller: caller}
	r.ask()
	r.load()
	return r.seesResource(g.o.Resources, uri)
}
