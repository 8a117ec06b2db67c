// The bodies of HTTP responses as the SDK gets to see them: bounded, and with the tap in between. A JSON body is one
// message; a stream of events has one message an event, and ends for the SDK with the response it was opened for, since
// the SDK reads to the end what a server may never end.

package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// body is the body of one response.
type body struct {
	rt   *roundTripper
	resp *http.Response
	src  io.ReadCloser
	id   string // of the request, as JSON; "" where there is none
	ctx  context.Context
	read func([]byte) (int, error)
	done func()
	once sync.Once
}

// Read is called by one goroutine.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.read(p)
	if err != nil {
		b.over(err)
	}
	return n, err
}

// Close may be called at any time, and more than once.
func (b *body) Close() error {
	err := b.src.Close()
	b.over(nil)
	return err
}

// over says that a stream that was listened to has ended, unless it was us who ended it.
func (b *body) over(err error) {
	b.once.Do(func() {
		if h, ok := b.ctx.Value(holderKey{}).(*holder); ok && h.over != nil && b.ctx.Err() == nil {
			if err == nil {
				err = io.EOF
			}
			h.over(err)
		}
		b.done()
	})
}

// whole is a body that is one message.
type whole struct {
	b    *body
	left []byte
	err  error
}

func (w *whole) Read(p []byte) (int, error) {
	if w.err == nil {
		w.err = io.EOF
		data, err := io.ReadAll(io.LimitReader(w.b.src, maxMessage+1))
		if err != nil {
			w.err = err
			return 0, err
		}
		if len(data) > maxMessage {
			w.err = fmt.Errorf("%w: a body of more than %d bytes", ErrTooMuch, maxMessage)
			return 0, w.err
		}
		if w.left = data; len(bytes.TrimSpace(data)) > 0 {
			out, _, err := w.b.rt.tap.received(data)
			switch {
			case err == nil && out != nil:
				w.left = out
			case w.b.id != "":
				w.left = failure(w.b.id, errors.New("the answer is not a JSON-RPC response to the request"))
			}
		}
	}
	if len(w.left) == 0 {
		return 0, w.err
	}
	n := copy(p, w.left)
	w.left = w.left[n:]
	return n, nil
}

// events is a stream of events.
type events struct {
	b    *body
	r    *bufio.Reader
	left []byte
	err  error // sticks: what is behind an event that is too long is not read
}

func newEvents(b *body) *events { return &events{b: b, r: bufio.NewReaderSize(b.src, 16<<10)} }

func (e *events) Read(p []byte) (int, error) {
	for len(e.left) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.err = e.next()
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}

// next reads one event and writes down what the SDK is to see of it: its data, if there is any left, and its id, by
// which a broken stream is taken up again. With the response that the stream was opened for it returns io.EOF.
func (e *events) next() (end error) {
	var head, data []byte
	hasData, other := false, false
	for size := 0; ; {
		line, err := readLine(e.r, maxMessage-size)
		if err != nil {
			return err // an event that was not ended does not count
		}
		size += len(line)
		if len(line) == 0 {
			break
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if hasData {
				data = append(data, '\n')
			}
			data, hasData = append(data, value...), true
		case "id", "retry":
			head = append(append(append(append(head, field...), ": "...), value...), '\n')
		case "event":
			other = string(value) != "message"
		}
	}
	e.left = head
	if hasData && !other && len(data) > 0 {
		out, id, _ := e.b.rt.tap.received(data)
		if out != nil {
			if id != "" && id == e.b.id {
				end = io.EOF
			}
			for line := range bytes.SplitSeq(out, []byte("\n")) {
				e.left = append(append(append(e.left, "data: "...), line...), '\n')
			}
		}
	}
	if len(e.left) > 0 {
		e.left = append(e.left, '\n')
	}
	return end
}
