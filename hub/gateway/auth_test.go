package gateway

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

const (
	aliceToken = "alice-0123456789abcdef"
	botToken   = "bot-0123456789abcdef"
)

func sha(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// twoCallers is a hub with two callers in two views, before a server with two tools.
func twoCallers(t testing.TB, more ...string) (*world, *fake) {
	fs := newFake(t, "read", "write")
	w := newWorld(t, map[string]string{
		"hub.yaml": hubYAML(append(more,
			"views: {reader: {policy: reader.yaml}}",
			"callers:",
			"- {principal: alice, view: default, token_sha256: \""+sha(aliceToken)+"\"}",
			"- {principal: bot, view: reader, token_env: BOT_TOKEN}",
		)...),
		"policy.yaml": policyYAML("fs/*"),
		"reader.yaml": "version: 1\nfilter: {include: [\"fs/read\"]}\npolicy: {allow_new_tools: true, allow: [\"*/*\"]}\n",
	}, map[string]*fake{"fs": fs}, func(w *world) { w.env["BOT_TOKEN"] = botToken })
	return w, fs
}

func TestTwoCallersSeeTwoViews(t *testing.T) {
	w, fs := twoCallers(t)
	for _, p := range protocols {
		alice, bot := w.client(p, aliceToken, nil), w.client(p, botToken, nil)
		require.Equal(t, []string{"fs__read", "fs__write"}, toolNames(t, alice))
		require.Equal(t, []string{"fs__read"}, toolNames(t, bot))
		_, err := call(bot, "fs__write", nil)
		require.ErrorContains(t, err, `unknown tool "fs__write"`)
		_, err = call(alice, "fs__write", nil)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"write {}", "write {}"}, fs.called())
}

// request sends one request as bytes.
func (w *world) request(method, path, token, body string, header ...string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequest(method, w.web.URL+path, strings.NewReader(body))
	require.NoError(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	return res, string(text)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

func TestWhoHasNoTokenStaysOutside(t *testing.T) {
	w, _ := twoCallers(t)
	for _, token := range []string{"", "wrong-0123456789abcdef", aliceToken + "x", aliceToken[:16], "a.b.c"} {
		for _, path := range []string{"/mcp"} {
			res, _ := w.request("POST", path, token, initialize)
			require.Equal(t, http.StatusUnauthorized, res.StatusCode, token)
		}
		_, err := w.dial(protocols[1], token, nil)
		require.Error(t, err)
	}
	res, text := w.request("GET", "/healthz", "", "")
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.JSONEq(t, `{"status":"ok"}`, text, "and nothing else")
	for _, path := range []string{"/", "/metrics", "/mcp/", "/.well-known/oauth-protected-resource/mcp"} {
		res, _ = w.request("GET", path, "", "")
		require.Equal(t, http.StatusNotFound, res.StatusCode, path)
	}
}

// A session belongs to whoever began it.
func TestASessionIsNotTakenOver(t *testing.T) {
	w, _ := twoCallers(t)
	res, _ := w.request("POST", "/mcp", aliceToken, initialize)
	session := res.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, session)
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
	res, text := w.request("POST", "/mcp", aliceToken, list, "Mcp-Session-Id", session)
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Contains(t, text, "fs__write")
	for _, method := range []string{"POST", "GET", "DELETE"} {
		res, text = w.request(method, "/mcp", botToken, list, "Mcp-Session-Id", session)
		require.Equal(t, http.StatusForbidden, res.StatusCode, method)
		require.NotContains(t, text, "fs__")
		res, _ = w.request(method, "/mcp", "", list, "Mcp-Session-Id", session)
		require.Equal(t, http.StatusUnauthorized, res.StatusCode, method)
	}
}

func TestOtherOriginsAndHostsStayOutside(t *testing.T) {
	w, _ := twoCallers(t)
	res, _ := w.request("POST", "/mcp", aliceToken, initialize, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, res.StatusCode)
	res, _ = w.request("POST", "/mcp", aliceToken, initialize, "Host", "hub.example")
	require.Equal(t, http.StatusOK, res.StatusCode, "a proxy passes on the name that the world knows")
	res, _ = w.request("POST", "/mcp", "", initialize, "Host", "hub.example")
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	open := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("fs/*")}, nil, nil)
	res, _ = open.request("POST", "/mcp", "", initialize)
	require.Equal(t, http.StatusOK, res.StatusCode)
	res, _ = open.request("POST", "/mcp", "", initialize, "Host", "evil.example")
	require.Equal(t, http.StatusForbidden, res.StatusCode, "a web page whose name means this machine")
	res, _ = w.request("POST", "/mcp", aliceToken, strings.Repeat("x", maxBody+1))
	require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)
}

// The admin listener has what callers are not told.
func TestAdmin(t *testing.T) {
	w, _ := twoCallers(t)
	admin := httptest.NewServer(w.g.Admin())
	defer admin.Close()
	get := func(path, host string) (int, string) {
		r, err := http.NewRequest("GET", admin.URL+path, nil)
		require.NoError(t, err)
		if host != "" {
			r.Host = host
		}
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(b)
	}
	code, text := get("/healthz", "")
	require.Equal(t, http.StatusOK, code)
	var h Health
	require.NoError(t, json.Unmarshal([]byte(text), &h))
	require.Equal(t, "ok", h.Status)
	require.Len(t, h.Servers, 1)
	require.Equal(t, 2, h.Servers[0].Tools)
	require.Equal(t, w.g.Engine().Snapshot().Generation(), h.Generation)
	code, _ = get("/healthz", "evil.example")
	require.Equal(t, http.StatusForbidden, code)
	code, _ = get("/healthz", "localhost:1")
	require.Equal(t, http.StatusOK, code)
	code, _ = get("/mcp", "")
	require.Equal(t, http.StatusNotFound, code)
}

// issuerOf is an identity provider of a test.
type issuerOf struct {
	web   *httptest.Server
	key   *rsa.PrivateKey
	asked atomic.Int32 // for its keys
}

func newIssuerOf(t *testing.T) *issuerOf {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	i := &issuerOf{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.web.URL, "jwks_uri": i.web.URL + "/keys", "authorization_endpoint": i.web.URL + "/auth", "token_endpoint": i.web.URL + "/token",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.asked.Add(1)
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Algorithm: "RS256", Use: "sig"}}})
	})
	i.web = httptest.NewServer(mux)
	t.Cleanup(i.web.Close)
	return i
}

// token signs claims over good ones.
func (i *issuerOf) token(t *testing.T, key any, alg jose.SignatureAlgorithm, claims map[string]any) string {
	t.Helper()
	all := map[string]any{
		"iss": i.web.URL, "aud": "https://hub.example/mcp", "sub": "carol", "exp": time.Now().Add(time.Hour).Unix(),
		"iat": time.Now().Unix(), "scope": "mcp openid",
	}
	for k, v := range claims {
		if all[k] = v; v == nil {
			delete(all, k)
		}
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "1"))
	require.NoError(t, err)
	out, err := jwt.Signed(s).Claims(all).Serialize()
	require.NoError(t, err)
	return out
}

func TestAccessTokens(t *testing.T) {
	i := newIssuerOf(t)
	w, _ := twoCallers(t, "oauth: {resource: \"https://hub.example/mcp\", issuer: \""+i.web.URL+"\", scopes: [mcp], views: [{scope: write, view: default}], default_view: reader}")
	good := func(claims map[string]any) string { return i.token(t, i.key, jose.RS256, claims) }
	for _, p := range protocols {
		require.Equal(t, []string{"fs__read"}, toolNames(t, w.client(p, good(nil), nil)))
		require.Equal(t, []string{"fs__read", "fs__write"}, toolNames(t, w.client(p, good(map[string]any{"scope": "mcp write"}), nil)))
		require.Equal(t, []string{"fs__read", "fs__write"}, toolNames(t, w.client(p, good(map[string]any{"scope": nil, "scp": []string{"mcp", "write"}}), nil)))
		require.Equal(t, []string{"fs__read", "fs__write"}, toolNames(t, w.client(p, aliceToken, nil)), "static tokens work besides")
	}

	other, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		token string
		code  int
	}{
		"another audience": {good(map[string]any{"aud": "https://other.example/mcp"}), 401},
		"another issuer":   {good(map[string]any{"iss": "https://other.example"}), 401},
		"expired":          {good(map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), 401},
		"without an end":   {good(map[string]any{"exp": nil}), 401},
		"without a name":   {good(map[string]any{"sub": nil}), 401},
		"a static name":    {good(map[string]any{"sub": "alice"}), 401},
		"another key":      {i.token(t, other, jose.RS256, nil), 401},
		"a public secret":  {i.token(t, []byte(strings.Repeat("k", 32)), jose.HS256, nil), 401},
		"another scope":    {good(map[string]any{"scope": "openid"}), 403},
		"no scope":         {good(map[string]any{"scope": nil}), 403},
		"no token":         {"", 401},
	} {
		res, text := w.request("POST", "/mcp", c.token, initialize)
		require.Equal(t, c.code, res.StatusCode, name)
		require.Contains(t, res.Header.Get("WWW-Authenticate"), `resource_metadata="https://hub.example/.well-known/oauth-protected-resource/mcp"`, name)
		require.NotContains(t, text, "carol")
	}

	res, text := w.request("GET", "/.well-known/oauth-protected-resource/mcp", "", "")
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.JSONEq(t, `{"resource":"https://hub.example/mcp","authorization_servers":["`+i.web.URL+`"],"scopes_supported":["mcp"],"bearer_methods_supported":["header"]}`, text)
}

// An issuer that is down keeps nobody else out, and its callers come in when it is back.
func TestAnIssuerThatIsDown(t *testing.T) {
	i := newIssuerOf(t)
	w, _ := twoCallers(t, "oauth: {resource: \"https://hub.example/mcp\", issuer: \""+i.web.URL+"\", scopes: [mcp], default_view: reader}")
	token := i.token(t, i.key, jose.RS256, nil)
	i.web.Close()
	res, text := w.request("POST", "/mcp", token, initialize)
	require.Equal(t, http.StatusInternalServerError, res.StatusCode)
	require.NotContains(t, text, "127.0.0.1")
	require.Equal(t, []string{"fs__read", "fs__write"}, toolNames(t, w.client(protocols[0], aliceToken, nil)))
}

// A caller that sees nothing is one whose token has no scope of a view.
func TestATokenWithoutAViewSeesNothing(t *testing.T) {
	i := newIssuerOf(t)
	w, _ := twoCallers(t, "oauth: {resource: \"https://hub.example/mcp\", issuer: \""+i.web.URL+"\", scopes: [mcp], views: [{scope: write, view: default}]}")
	cs := w.client(protocols[0], i.token(t, i.key, jose.RS256, nil), nil)
	require.Empty(t, toolNames(t, cs))
	_, err := call(cs, "fs__read", nil)
	require.ErrorContains(t, err, `unknown tool "fs__read"`)
	_, err = cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "penstock:fs:x"})
	require.ErrorContains(t, err, "not found")
}

// Strangers do not decide how often the issuer is asked for its keys.
func TestForgedTokensDoNotReachTheIssuer(t *testing.T) {
	i := newIssuerOf(t)
	w, _ := twoCallers(t, "oauth: {resource: \"https://hub.example/mcp\", issuer: \""+i.web.URL+"\", scopes: [mcp], default_view: reader}")
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	for range 30 {
		res, _ := w.request("POST", "/mcp", i.token(t, other, jose.RS256, nil), initialize)
		require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	}
	require.Less(t, i.asked.Load(), int32(10))
	require.Equal(t, []string{"fs__read"}, toolNames(t, w.client(protocols[0], i.token(t, i.key, jose.RS256, nil), nil)))
}
