// A server that is a program: it reads messages from its standard input and writes them to its standard output, one a
// line.
//
// Three goroutines belong to a program: one reads what it says, one reads what it complains, one writes to it, since a
// program that does not read must not hold up who writes. All of them end when the program has: see [process.stop].

package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage bounds one message of a server: a line, a body or an event. A list of 20 MB has been seen, so it is a few
// times that.
const maxMessage = 64 << 20

// stdio is a transport to a program.
type stdio struct {
	server Server
	tap    *tap
	stderr func(line string)
	grace  grace
}

// Connect starts the program.
func (t *stdio) Connect(context.Context) (mcp.Connection, error) {
	p, err := start(t.server, t.grace)
	if err != nil {
		return nil, err
	}
	c := &stdioConn{
		tap: t.tap, process: p,
		in: make(chan incoming), out: make(chan outgoing), closed: make(chan struct{}), said: make(chan struct{}),
	}
	c.running.Add(3)
	go func() { defer c.running.Done(); c.read(p.stdout) }()
	go func() { defer c.running.Done(); c.write(p.stdin) }()
	go func() { defer c.running.Done(); defer close(c.said); eachLine(p.stderr, maxComplaint, t.stderr) }()
	return c, nil
}

// endWait bounds the wait for goroutines that read from pipes. Where pipes have deadlines it is never used up.
const endWait = 5 * time.Second

type incoming struct {
	msg jsonrpc.Message
	err error
}

type outgoing struct {
	data []byte
	done chan error // of capacity 1
}

// stdioConn is a connection to a program. Read is called by one goroutine, as the SDK does.
type stdioConn struct {
	tap     *tap
	process *process
	in      chan incoming
	out     chan outgoing
	running sync.WaitGroup

	once   sync.Once
	closed chan struct{} // closed when Close begins
	said   chan struct{} // closed when all that the program complained of has been read
}

// SessionID returns "": there is none.
func (c *stdioConn) SessionID() string { return "" }

// Read returns the next message that is for the SDK.
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.in:
		return m.msg, m.err
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends a message. Where ctx ends first, the message may still go out, but never half of it.
func (c *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	if err := c.tap.sent(ctx, msg); err != nil {
		return err
	}
	if answer, ok := msg.(*jsonrpc.Response); ok {
		defer c.tap.replied(idText(answer.ID))
	}
	o := outgoing{append(data, '\n'), make(chan error, 1)}
	select {
	case c.out <- o:
	case <-c.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-o.done:
		return err
	case <-c.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the program, and returns when it, and all that belongs to the connection, has ended.
func (c *stdioConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.process.stop()
		ended := make(chan struct{})
		go func() { c.running.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(endWait):
		}
		c.process.release()
	})
	return nil
}

// write writes what Write hands over, and closes the program's standard input when the connection is closed.
func (c *stdioConn) write(w io.WriteCloser) {
	defer w.Close()
	for {
		select {
		case o := <-c.out:
			_, err := w.Write(o.data)
			o.done <- err
			if err != nil {
				return
			}
		case <-c.closed:
			return
		}
	}
}

// read reads lines and hands over what is for the SDK. When nothing is handed over any more it goes on reading: a program
// must not hang on a full pipe while it is asked to end.
func (c *stdioConn) read(r io.Reader) {
	defer func() { _, _ = io.Copy(io.Discard, r) }()
	hand := func(m incoming) bool {
		select {
		case c.in <- m:
			return true
		case <-c.closed:
			return false
		}
	}
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(br, maxMessage)
		if err == nil || len(line) > 0 {
			for _, msg := range split(line) {
				out, _, _ := c.tap.received(msg)
				if out == nil {
					continue
				}
				m, err := jsonrpc.DecodeMessage(out)
				if err == nil && !hand(incoming{msg: m}) {
					return
				}
			}
		}
		if err != nil {
			if err != io.EOF && !errors.Is(err, ErrTooMuch) {
				err = io.EOF
			}
			hand(incoming{err: err})
			return
		}
	}
}

// split returns the messages of a line: one, or those of a batch. An empty line has none.
func split(line []byte) [][]byte {
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
		return nil
	case line[0] == '[':
		if es, err := elements(line); err == nil {
			return es
		}
	}
	return [][]byte{line}
}

// readLine returns the next line without its end. The last one may have none; it comes with io.EOF.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrTooMuch, limit)
		}
		line = append(line, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		return bytes.TrimRight(line, "\r\n"), err
	}
}

// maxComplaint bounds one line of standard error that is passed on.
const maxComplaint = 2048

// eachLine calls f with every line of r until it ends. Of a line longer than limit it is the beginning.
func eachLine(r io.Reader, limit int, f func(string)) {
	br := bufio.NewReaderSize(r, 4<<10)
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part[:min(len(part), max(0, limit-len(line)))]...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			f(string(text))
		}
		line = line[:0]
		if err != nil {
			return
		}
	}
}
