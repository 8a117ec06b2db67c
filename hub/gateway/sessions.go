// Sessions that are kept, of the protocols up to 2025-11-25.
//
// A session costs some kilobytes and a goroutine until it ends, or until nobody has used it for an hour, and whoever may
// come in can open one with each request. So each caller has so many and no more. The SDK does not say when one ends:
// where somebody has as many as there may be, those that are still there are counted.

package gateway

import (
	"iter"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxSessions is how many one caller has: an agent that is started anew each second and never says good-bye has 3,600.
	maxSessions = 4096

	// maxFirst bounds the request that opens a session, in bytes: what it says of the client is kept as long as the session.
	maxFirst = 64 << 10

	sessionHeader = "Mcp-Session-Id"
)

// sessions count what callers have.
type sessions struct {
	live func() iter.Seq[*mcp.ServerSession]

	mu      sync.Mutex
	has     map[string]map[string]bool // session ids by user
	opening map[string]int
}

// begin serves a request that may open a session, by h, or refuses it.
func (s *sessions) begin(rw http.ResponseWriter, r *http.Request, h http.Handler) {
	user := ""
	if t := auth.TokenInfoFromContext(r.Context()); t != nil {
		user = t.UserID
	}
	if !s.enter(user) {
		http.Error(rw, "too many sessions: end some", http.StatusServiceUnavailable)
		return
	}
	defer func() { s.entered(user, rw.Header().Get(sessionHeader)) }()
	r.Body = http.MaxBytesReader(rw, r.Body, maxFirst)
	h.ServeHTTP(rw, r)
}

// enter reports whether a caller may open one more.
func (s *sessions) enter(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.has[user])+s.opening[user] >= maxSessions {
		s.sweep()
	}
	if len(s.has[user])+s.opening[user] >= maxSessions {
		return false
	}
	if s.opening == nil {
		s.has, s.opening = map[string]map[string]bool{}, map[string]int{}
	}
	s.opening[user]++
	return true
}

// entered notes the session that was opened; "" is none.
func (s *sessions) entered(user, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opening[user]--; s.opening[user] == 0 {
		delete(s.opening, user)
	}
	if id == "" {
		return
	}
	if s.has[user] == nil {
		s.has[user] = map[string]bool{}
	}
	s.has[user][id] = true
}

// end ends the sessions of some users. What runs in them comes to nothing.
func (s *sessions) end(of func(user string) bool) {
	s.mu.Lock()
	ids := map[string]bool{}
	for user, has := range s.has {
		if of(user) {
			for id := range has {
				ids[id] = true
			}
			delete(s.has, user)
		}
	}
	s.mu.Unlock()
	for ss := range s.live() {
		if ids[ss.ID()] {
			go func() { _ = ss.Close() }() // which waits for what runs
		}
	}
}

// sweep forgets the sessions that have ended. The mutex is held.
func (s *sessions) sweep() {
	live := map[string]bool{}
	for ss := range s.live() {
		live[ss.ID()] = true
	}
	for user, ids := range s.has {
		for id := range ids {
			if !live[id] {
				delete(ids, id)
			}
		}
		if len(ids) == 0 {
			delete(s.has, user)
		}
	}
}
