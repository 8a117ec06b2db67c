// Who comes in over HTTP.
//
// A bearer token is that of a caller of the configuration, or an access token of the OAuth issuer. Either way the SDK's
// auth.RequireBearerToken stands in front; what it is told of a token holds the hub.Caller, which the guard's Identify
// takes out again: nothing else of a request says who it comes from.

package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/penstock-mcp/penstock/hub"
)

// callerKey is where TokenInfo.Extra holds the hub.Caller.
const callerKey = "github.com/penstock-mcp/penstock/hub/gateway.caller"

// staticUser begins the user that a session of a static token is bound to.
const staticUser = "token:"

var errNoCaller = errors.New("the request came in over HTTP without a caller")

// gate lets callers in by one configuration. It is immutable.
type gate struct {
	callers []Caller
	oauth   *issuer // nil: there is none

	guarded  func(http.Handler) http.Handler // auth.RequireBearerToken; nil where anybody may come in
	refused  func(*http.Request, error)      // hears of a token that is refused
	metadata http.Handler                    // of RFC 9728; nil where there is none
	path     string                          // where it is served
}

// newGate returns the gate of a configuration. It takes the issuer's keys over from before where it is the same.
func newGate(c *Config, before *gate, refused func(*http.Request, error)) *gate {
	g := &gate{callers: c.Callers, refused: refused}
	if !c.authenticates() {
		return g
	}
	o := &auth.RequireBearerTokenOptions{AllowMissingExpiration: true} // static tokens have none; see issuer.verify
	if c.OAuth != nil {
		g.oauth = newIssuer(c.OAuth)
		if before != nil && before.oauth != nil && before.oauth.sameKeys(c.OAuth) {
			g.oauth.keys = before.oauth.keys
		}
		meta := metadataURL(c.OAuth.Resource)
		o.ResourceMetadataURL, o.Scopes = meta.String(), c.OAuth.Scopes
		g.path = meta.Path
		g.metadata = auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
			Resource:               c.OAuth.Resource,
			AuthorizationServers:   []string{c.OAuth.Issuer},
			ScopesSupported:        c.OAuth.Scopes,
			BearerMethodsSupported: []string{"header"},
		})
	}
	g.guarded = auth.RequireBearerToken(func(ctx context.Context, token string, r *http.Request) (*auth.TokenInfo, error) {
		info, err := g.verify(ctx, token)
		if err != nil && g.refused != nil {
			g.refused(r, err)
		}
		return info, err
	}, o)
	return g
}

// metadataURL is where RFC 9728 has the metadata of a resource: its path goes behind the well-known one.
func metadataURL(resource string) *url.URL {
	u, err := url.Parse(resource)
	if err != nil {
		return &url.URL{}
	}
	u.Path = "/.well-known/oauth-protected-resource" + strings.TrimSuffix(u.Path, "/")
	return u
}

// verify says whose a token is.
func (g *gate) verify(ctx context.Context, token string) (*auth.TokenInfo, error) {
	if c, ok := g.static(token); ok {
		info := tokenInfo(staticUser+c.Principal, hub.Caller{Principal: c.Principal, View: c.View, Attributes: c.Attributes})
		if g.oauth != nil {
			info.Scopes = g.oauth.o.Scopes // it was given out for this hub, and for nothing less
		}
		return info, nil
	}
	if g.oauth == nil {
		return nil, auth.ErrInvalidToken
	}
	info, err := g.oauth.verify(ctx, token)
	if err != nil {
		return nil, err
	}
	// Approvals are bound to principals: two ways to become the same one would mix them up.
	principal := info.Extra[callerKey].(hub.Caller).Principal
	for _, c := range g.callers {
		if c.Principal == principal {
			return nil, fmt.Errorf("%w: its principal is that of a static token", auth.ErrInvalidToken)
		}
	}
	return info, nil
}

// static finds the caller of a static token. All of them are compared, in a time that says nothing of which it was.
func (g *gate) static(token string) (Caller, bool) {
	sum := sha256.Sum256([]byte(token))
	at := -1
	for i := range g.callers {
		if subtle.ConstantTimeCompare(sum[:], g.callers[i].Token[:]) == 1 {
			at = i
		}
	}
	if at < 0 || len(token) < minToken {
		return Caller{}, false
	}
	return g.callers[at], true
}

// tokenInfo is what the SDK learns of a token: user is what a session is bound to.
func tokenInfo(user string, c hub.Caller) *auth.TokenInfo {
	return &auth.TokenInfo{UserID: user, Extra: map[string]any{callerKey: c}}
}

// identify is GuardOptions.Identify.
func (g *Gateway) identify(ctx context.Context, _ string, in mcp.Request) (hub.Caller, error) {
	c, err := g.caller(in.GetExtra())
	if err == nil && g.o.Taint != nil {
		c.Taint = g.o.Taint(ctx, c, in)
	}
	return c, err
}

func (g *Gateway) caller(extra *mcp.RequestExtra) (hub.Caller, error) {
	s := g.state.Load()
	switch {
	case extra == nil: // in memory, and over stdio
		return s.config.Stdio, nil
	case extra.TokenInfo != nil:
		if c, ok := extra.TokenInfo.Extra[callerKey].(hub.Caller); ok {
			return c, nil
		}
		return hub.Caller{}, errNoCaller
	case s.gate.guarded == nil:
		return hub.Caller{View: hub.DefaultView}, nil
	default:
		return hub.Caller{}, errNoCaller
	}
}

// refusals tells the log of tokens that are refused: at most one a second, since anybody can send any number.
type refusals struct {
	log *slog.Logger

	mu    sync.Mutex
	last  time.Time
	since int // how many were not told
}

func (f *refusals) note(r *http.Request, err error) {
	f.mu.Lock()
	now := time.Now()
	if now.Sub(f.last) < time.Second {
		f.since++
		f.mu.Unlock()
		return
	}
	untold := f.since
	f.last, f.since = now, 0
	f.mu.Unlock()
	from := ""
	if r != nil {
		from = r.RemoteAddr
	}
	f.log.Warn("a token was refused", "from", from, "error", err, "untold", untold)
}
