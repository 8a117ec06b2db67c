// Access tokens: JWTs of one issuer, for this hub.

package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/penstock-mcp/penstock/hub"
)

// errIssuer is what a caller is told when the issuer cannot be asked for its keys.
var errIssuer = errors.New("the issuer of access tokens cannot be reached at the moment")

// issuer verifies the access tokens of an OAuth configuration.
type issuer struct {
	o    *OAuth
	keys *keys
}

// keys are an issuer's, found when the first token comes: a hub whose issuer is down still serves its other callers.
type keys struct {
	issuer, audience string
	client           *http.Client

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
	failed   time.Time // when it was last tried
	err      error
}

// again is how long an issuer that could not be reached is left alone.
const again = 5 * time.Second

func newIssuer(o *OAuth) *issuer {
	return &issuer{o: o, keys: &keys{
		issuer: o.Issuer, audience: o.Resource,
		client: &http.Client{Timeout: 10 * time.Second, Transport: &sparing{next: http.DefaultTransport}},
	}}
}

// sameKeys reports whether o is of the same issuer, for the same audience.
func (i *issuer) sameKeys(o *OAuth) bool { return i.o.Issuer == o.Issuer && i.o.Resource == o.Resource }

// get returns the verifier of signature, issuer, audience and expiry.
func (k *keys) get() (*oidc.IDTokenVerifier, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.verifier != nil {
		return k.verifier, nil
	}
	if k.err != nil && time.Since(k.failed) < again {
		return nil, k.err
	}
	// The context outlives the request: the verifier fetches keys with it later.
	p, err := oidc.NewProvider(oidc.ClientContext(context.Background(), k.client), k.issuer)
	if err != nil {
		k.failed, k.err = time.Now(), err
		return nil, err
	}
	k.verifier, k.err = p.Verifier(&oidc.Config{ClientID: k.audience}), nil
	return k.verifier, nil
}

// verify says whose an access token is. The error does not repeat what is in the token.
func (i *issuer) verify(ctx context.Context, token string) (*auth.TokenInfo, error) {
	if strings.Count(token, ".") != 2 {
		return nil, auth.ErrInvalidToken // no JWT, and nothing to ask an issuer for
	}
	v, err := i.keys.get()
	if err != nil {
		return nil, errIssuer
	}
	t, err := v.Verify(oidc.ClientContext(ctx, i.keys.client), token)
	if expired := new(oidc.TokenExpiredError); errors.As(err, &expired) {
		return nil, fmt.Errorf("%w: it has expired", auth.ErrInvalidToken)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: its signature, issuer or audience is not the right one", auth.ErrInvalidToken)
	}
	if t.Expiry.IsZero() {
		return nil, fmt.Errorf("%w: it does not expire", auth.ErrInvalidToken)
	}
	var claims map[string]any
	if err := t.Claims(&claims); err != nil {
		return nil, auth.ErrInvalidToken
	}
	claim := i.o.PrincipalClaim
	if claim == "" {
		claim = "sub"
	}
	principal, _ := claims[claim].(string)
	if principal == "" {
		return nil, fmt.Errorf("%w: it has no claim %q that says whose it is", auth.ErrInvalidToken, claim)
	}
	scopes := scopesOf(claims)
	listed := make([]any, len(scopes))
	for n, s := range scopes {
		listed[n] = s
	}
	info := tokenInfo("oauth:"+principal, hub.Caller{
		Principal: principal, View: i.view(scopes), Attributes: map[string]any{"scopes": listed},
	})
	info.Scopes, info.Expiration = scopes, t.Expiry
	return info, nil
}

// view is the view of a token: "" is one that there is not.
func (i *issuer) view(scopes []string) string {
	for _, v := range i.o.Views {
		if slices.Contains(scopes, v.Scope) {
			return v.View
		}
	}
	return i.o.DefaultView
}

// scopesOf reads the scopes: one string, as RFC 9068 has them, or a list, as some issuers do.
func scopesOf(claims map[string]any) []string {
	for _, key := range []string{"scope", "scp"} {
		switch v := claims[key].(type) {
		case string:
			return strings.Fields(v)
		case []any:
			var out []string
			for _, s := range v {
				if s, ok := s.(string); ok {
					out = append(out, s)
				}
			}
			return out
		}
	}
	return nil
}

// sparing asks for the same thing once in a while at most. A token with a made-up key id has the issuer asked for its keys
// again, before anybody can tell that it is no token; strangers are not to decide how often.
type sparing struct {
	next http.RoundTripper

	mu   sync.Mutex
	last map[string]time.Time // by URL: the issuer's own two, and what they redirect to
}

var errSparing = errors.New("it was asked a moment ago")

// RoundTrip implements http.RoundTripper.
func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	url, now := r.URL.String(), time.Now()
	at, asked := s.last[url]
	if asked && now.Sub(at) < again {
		s.mu.Unlock()
		return nil, errSparing
	}
	if s.last == nil || len(s.last) > 100 {
		s.last = map[string]time.Time{}
	}
	s.last[url] = now
	s.mu.Unlock()
	return s.next.RoundTrip(r)
}
