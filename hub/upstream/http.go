// A server behind a URL. The SDK speaks streamable HTTP; what is ours is between it and the network: a RoundTripper that
// adds the headers, keeps them from other origins, bounds what comes back and lets the tap see it.
//
// The SDK itself is told the scheme and the host of the URL and no more. It puts the URL into its errors, and user, path
// and query may be secrets.

package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxRedirects is how often a request is sent on within its origin.
const maxRedirects = 3

// maxErrorBody bounds the body of a response that is no success.
const maxErrorBody = 1 << 20

// streamRetries is how often the SDK tries to go on with a stream that broke, before the session counts as lost.
const streamRetries = 2

// roundTripper sends requests to one server.
type roundTripper struct {
	base    *http.Transport
	target  *url.URL // the real one
	public  string   // what the SDK is told
	headers map[string]string
	tap     *tap
	ctx     context.Context // when it ends, so does everything that is under way
}

// newHTTP returns the SDK's transport to a server, and what closes its idle connections.
func newHTTP(ctx context.Context, s Server, t *tap) (mcp.Transport, func(), error) {
	target, err := url.Parse(s.URL)
	if err != nil || target.Host == "" || (target.Scheme != "http" && target.Scheme != "https") {
		return nil, nil, errors.New("url is not an http or https URL")
	}
	base := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    16,
		MaxResponseHeaderBytes: 1 << 20,
	}
	rt := &roundTripper{base: base, target: target, public: publicURL(s.URL) + "/", headers: s.Headers, tap: t, ctx: ctx}
	client := &http.Client{
		Transport:     rt,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &mcp.StreamableClientTransport{
		Endpoint: rt.public, HTTPClient: client, MaxRetries: streamRetries, MaxEventSize: maxMessage + 1<<10,
	}, base.CloseIdleConnections, nil
}

// RoundTrip sends a request of the SDK to the real URL, and lets the tap look at what goes out and what comes back.
func (rt *roundTripper) RoundTrip(in *http.Request) (*http.Response, error) {
	if err := rt.ctx.Err(); err != nil {
		// A request that is begun after the idle connections were closed would leave one of its own.
		return nil, err
	}
	if in.Method == http.MethodGet {
		return rt.early(in)
	}
	return rt.exchange(in)
}

func (rt *roundTripper) exchange(in *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(in.Context())
	stop := context.AfterFunc(rt.ctx, func() { cancel(context.Cause(rt.ctx)) })
	done := func() { stop(); cancel(nil) }
	resp, id, err := rt.send(ctx, in)
	if err != nil {
		done()
		return nil, err
	}
	b := &body{rt: rt, resp: resp, src: resp.Body, id: id, done: done, ctx: ctx}
	resp.Body = b
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	switch kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";"); {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		b.read = io.LimitReader(b.src, maxErrorBody).Read
	case strings.EqualFold(strings.TrimSpace(kind), "text/event-stream"):
		b.read = newEvents(b).Read
	default:
		b.read = (&whole{b: b}).Read
	}
	return resp, nil
}

// send sends a request and follows redirects that stay where they are.
func (rt *roundTripper) send(ctx context.Context, in *http.Request) (resp *http.Response, id string, err error) {
	var data []byte
	if in.Body != nil {
		data, err = io.ReadAll(in.Body)
		_ = in.Body.Close()
		if err != nil {
			return nil, "", err
		}
		var method string
		id, method = requestOf(data)
		switch {
		case method == "":
			defer rt.tap.replied(id)
			id = ""
		case id != "":
			if err := rt.tap.note(in.Context(), id, method); err != nil {
				return nil, "", err
			}
		}
	}
	to := rt.target
	for hop := 0; ; hop++ {
		out := in.Clone(ctx)
		out.URL, out.Host = to, ""
		out.Body, out.GetBody, out.ContentLength = nil, nil, 0
		if in.Body != nil {
			out.ContentLength = int64(len(data))
			out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
			out.Body, _ = out.GetBody()
		}
		rt.dress(out)
		resp, err = rt.base.RoundTrip(out)
		if err != nil {
			return nil, "", err
		}
		next, ok := redirected(resp, to)
		if !ok {
			return resp, id, nil
		}
		_ = resp.Body.Close()
		switch {
		case next == nil || !sameOrigin(next, rt.target):
			return nil, "", ErrRedirect
		case in.Method != http.MethodGet && resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect:
			return nil, "", fmt.Errorf("%w: status %d does not keep the request", ErrRedirect, resp.StatusCode)
		case hop == maxRedirects:
			return nil, "", fmt.Errorf("%w, again and again", ErrRedirect)
		}
		to = next
	}
}

// dress adds the headers. The request goes to the server's own origin: send sends it nowhere else.
func (rt *roundTripper) dress(out *http.Request) {
	for k, v := range rt.headers {
		if http.CanonicalHeaderKey(k) == "Host" {
			out.Host = v
			continue
		}
		out.Header.Set(k, v)
	}
	if u := rt.target.User; u != nil && out.Header.Get("Authorization") == "" {
		password, _ := u.Password()
		out.SetBasicAuth(u.Username(), password)
	}
}

// redirected returns where a response sends its request, nil where that cannot be read.
func redirected(resp *http.Response, from *url.URL) (*url.URL, bool) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, false
	}
	to, err := from.Parse(resp.Header.Get("Location"))
	if err != nil {
		return nil, true
	}
	return to, true
}

func sameOrigin(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		switch {
		case u.Port() != "":
			return u.Port()
		case u.Scheme == "https":
			return "443"
		default:
			return "80"
		}
	}
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}
