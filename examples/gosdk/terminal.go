// An approver of our own: whoever sits at the terminal that the server was started in.

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/penstock-mcp/penstock/hub"
)

// terminal asks one question at a time. Each has a number that the answer must repeat, so that what was typed for a
// question whose caller has gone is no answer to the next one.
type terminal struct {
	out   io.Writer
	lines <-chan string // what is typed, line by line; closed at its end
	turn  chan int      // holds the number of the last question while nobody is being asked
}

func newTerminal(in io.Reader, out io.Writer) *terminal {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t := &terminal{out: out, lines: lines, turn: make(chan int, 1)}
	t.turn <- 0
	return t
}

var errGone = errors.New("nobody is at the terminal")

// Approve asks, and waits for as long as the call does. Everything that came from outside is quoted: it could hold
// escape sequences that show another question.
func (t *terminal) Approve(ctx context.Context, r *hub.ApprovalRequest) (hub.Approval, error) {
	var n int
	select {
	case n = <-t.turn:
		n++
		defer func() { t.turn <- n }()
	case <-ctx.Done():
		return hub.Approval{}, ctx.Err()
	}
	_, err := fmt.Fprintf(t.out, "%s wants %s of %s to run\n  with    %s\n  rule    %s %s\n  tool    %s\nyes %d, or anything else: ",
		strconv.QuoteToASCII(r.Caller.Principal), strconv.QuoteToASCII(r.Target.Name), strconv.QuoteToASCII(r.Target.Server),
		strconv.QuoteToASCII(string(r.Args)), r.Decision, strconv.QuoteToASCII(r.Decision.Rule().Message), r.Fingerprint, n)
	if err != nil {
		return hub.Approval{}, err
	}
	select {
	case line, ok := <-t.lines:
		switch {
		case !ok:
			return hub.Approval{}, errGone
		case line == fmt.Sprintf("yes %d", n):
			return hub.Approval{Verdict: hub.Approved, By: "terminal"}, nil
		default:
			return hub.Approval{By: "terminal"}, nil // the zero verdict refuses
		}
	case <-ctx.Done():
		return hub.Approval{}, ctx.Err()
	}
}
