package hub

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// Over HTTP the caller is who the token says, on every request, with sessions and without.
func TestCallersByTokenOverHTTP(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		w := newWorld(t, map[string]engine.View{
			"reader": view(t, engine.FilterOptions{Include: rules("fs/read")}, allowAll()),
			"admin":  view(t, engine.FilterOptions{}, allowAll()),
		}, func(o *GuardOptions) {
			o.Identify = func(ctx context.Context, method string, req mcp.Request) (Caller, error) {
				c, err := IdentifyToken(ctx, method, req)
				c.View = c.Principal
				return c, err
			}
		}, nil)
		w.add("fs", "read", "write")
		verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
			return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
		}
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return w.server }, &mcp.StreamableHTTPOptions{Stateless: stateless})
		s := httptest.NewServer(auth.RequireBearerToken(verify, nil)(handler))
		defer s.Close()
		for user, want := range map[string][]string{"reader": {"fs__read"}, "admin": {"fs__read", "fs__write"}, "other": nil} {
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "admin", Version: "1"}, nil).Connect(t.Context(),
				&mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: &http.Client{Transport: bearer(user)}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := cs.ListTools(t.Context(), nil)
			if err != nil || !slices.Equal(names(res.Tools), want) {
				t.Errorf("stateless %v, %s: %v, %v", stateless, user, res, err)
			}
			if _, err := call(t, cs, "fs__write", nil); (err == nil) != (user == "admin") {
				t.Errorf("stateless %v, %s: %v", stateless, user, err)
			}
			cs.Close()
		}
	}
}
