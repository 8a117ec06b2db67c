// What servers say unasked: that lists or resources changed, how far a call is, and what they log. It is handled where it
// is read, so that it stays in order with responses, and nothing here waits for anybody.

package upstream

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// notified hears of every notification.
func (s *session) notified(method string, params []byte) {
	switch method {
	case "notifications/tools/list_changed":
		s.announced.Add(1)
		s.poke()
	case "notifications/prompts/list_changed", "notifications/resources/list_changed":
		s.poke()
	case "notifications/resources/updated":
		ms, err := members(params)
		if err != nil {
			return
		}
		v, _ := find(ms, "uri")
		uri, ok := text(v)
		if !ok {
			return
		}
		select {
		case s.updates <- uri:
		default: // the newest are lost: whoever does not keep up reads the resource later anyway
			s.w.says.log("updates", "more resources change than are asked about: some notifications are dropped")
		}
	case "notifications/progress":
		s.progressed(params)
	case "notifications/message":
		s.w.says.log("message", s.w.redact.text(string(params[:min(len(params), maxComplaint)])))
	}
}

// progressed passes progress on to the call it is about. Where that is over, or does not keep up, it is dropped.
func (s *session) progressed(params []byte) {
	var p mcp.ProgressNotificationParams
	if json.Unmarshal(params, &p) != nil {
		return
	}
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.progress[token] <- &p: // a nil channel takes nothing
	default:
	}
}

// passUpdates tells the embedder which resources changed.
func (s *session) passUpdates() {
	for {
		select {
		case uri := <-s.updates:
			if f := s.w.pool.o.OnResourceUpdated; f != nil {
				s.w.callback("OnResourceUpdated", func() { f(s.id, uri) })
			}
		case <-s.ctx.Done():
			return
		}
	}
}

// says writes to the log what a server says, at most so much of it.
type says struct {
	logger *slog.Logger
	server string

	mu      sync.Mutex
	tokens  float64
	last    time.Time
	dropped int
}

const (
	sayRate  = 20  // lines a second, in the long run
	sayBurst = 200 // lines at once
)

func (s *says) log(kind, line string) {
	now := time.Now()
	s.mu.Lock()
	if s.last.IsZero() {
		s.tokens = sayBurst
	} else {
		s.tokens = min(sayBurst, s.tokens+now.Sub(s.last).Seconds()*sayRate)
	}
	s.last = now
	if s.tokens < 1 {
		s.dropped++
		s.mu.Unlock()
		return
	}
	s.tokens--
	dropped := s.dropped
	s.dropped = 0
	s.mu.Unlock()
	attrs := []slog.Attr{slog.String("server", s.server), slog.String("kind", kind), slog.String("text", line)}
	if dropped > 0 {
		attrs = append(attrs, slog.Int("dropped_before", dropped))
	}
	s.logger.LogAttrs(context.Background(), slog.LevelDebug, "a server says", attrs...)
}
