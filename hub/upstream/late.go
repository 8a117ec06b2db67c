// The stream of notices of the older protocols, from a server that sends no headers before it has something to say.
//
// The SDK opens that stream while it connects, and waits for the headers with nothing to end the wait. So it is given a
// response at once, and the events when there are any.

package upstream

import (
	"context"
	"io"
	"net/http"
	"time"
)

// headerWait is how long the headers of a stream of notices are waited for, before the SDK is told that there are some.
const headerWait = 2 * time.Second

// early sends a request for a stream of notices. Where the headers do not come in time, it returns a response without
// events, into which those of the real one go when it comes.
func (rt *roundTripper) early(in *http.Request) (*http.Response, error) {
	type answer struct {
		resp *http.Response
		err  error
	}
	ctx, cancel := context.WithCancel(in.Context())
	got := make(chan answer, 1)
	go func() {
		resp, err := rt.exchange(in.Clone(ctx))
		got <- answer{resp, err}
	}()
	timer := time.NewTimer(headerWait)
	defer timer.Stop()
	select {
	case a := <-got:
		if a.err != nil {
			cancel()
			return nil, a.err
		}
		a.resp.Body = &cancelBody{a.resp.Body, cancel}
		return a.resp, nil
	case <-timer.C:
	}
	r, w := io.Pipe()
	go func() {
		a := <-got
		switch {
		case a.err != nil:
			_ = w.CloseWithError(a.err)
			return
		case a.resp.StatusCode < 200 || a.resp.StatusCode > 299:
			// There is no such stream, which the SDK can no longer be told: it is one on which nothing ever comes.
			_ = a.resp.Body.Close()
			<-ctx.Done()
			_ = w.CloseWithError(ctx.Err())
			return
		}
		_, err := io.Copy(w, a.resp.Body)
		_ = a.resp.Body.Close()
		_ = w.CloseWithError(err)
	}()
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Request: in,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: &cancelBody{r, cancel},
	}, nil
}

// cancelBody is a body that ends its request when it is closed.
type cancelBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancelBody) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}
