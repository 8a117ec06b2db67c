// What goes wrong, as types.

package upstream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// ErrNoServer says that the pool has no such server.
	ErrNoServer = errors.New("there is no such server")
	// ErrLost says that the connection ended while a call was under way: whether the server did it is not known.
	ErrLost = errors.New("the connection ended while the call was running")
	// ErrNoTool says that the server does not list the tool. The call was not sent.
	ErrNoTool = errors.New("the server lists no such tool")
	// ErrTwice says that the server lists the tool's name more than once, so that nobody knows which one would run. The
	// call was not sent.
	ErrTwice = errors.New("the server lists the name more than once")
	// ErrStale says that the server announced another list of tools and did not show it in time. The call was not sent.
	ErrStale = errors.New("the server announced another list of tools and has not shown it")
	// ErrNotSupported says that the server does not have the capability.
	ErrNotSupported = errors.New("the server does not support it")
	// ErrTooMuch says that a list, or a message, is past a bound.
	ErrTooMuch = errors.New("it is too large")
	// ErrRedirect says that a server sent a request on to where it must not go.
	ErrRedirect = errors.New("the server redirects to elsewhere (if that is meant, write the new URL)")
	// ErrTimeout says that a server did not answer in time.
	ErrTimeout = errors.New("the server did not answer in time")
	// ErrUnreachable says that a request could not be sent, or that what came back is no answer.
	ErrUnreachable = errors.New("the server cannot be reached")
	// ErrClosed says that the pool is closed.
	ErrClosed = errors.New("the pool is closed")
	// ErrPanic says that the code that talks to a server panicked.
	ErrPanic = errors.New("panic")

	errNoParams = errors.New("params are missing")
)

// Error is what failed with which server.
type Error struct {
	Server string
	Op     string // what was done: connect, list, tools/call and so on
	Err    error  // one of the errors of this package, or a *jsonrpc.Error where the server answered with one
}

// Error names the server and the operation.
func (e *Error) Error() string {
	return fmt.Sprintf("server %s: %s: %v", shown(e.Server), e.Op, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Error says what is wrong and with what.
func (p Problem) Error() string {
	if p.Item == "" {
		return fmt.Sprintf("server %s: %v", shown(p.Server), p.Err)
	}
	return fmt.Sprintf("server %s: %s: %v", shown(p.Server), p.Item, p.Err)
}

// Unwrap returns the cause.
func (p Problem) Unwrap() error { return p.Err }

// maxShown is how much of a foreign text a message shows.
const maxShown = 120

// shown returns s quoted where it does not print, and shortened.
func shown(s string) string {
	more := ""
	if len(s) > maxShown {
		n := maxShown
		for n > maxShown-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		s, more = s[:n], "…"
	}
	odd := func(r rune) bool {
		return r == utf8.RuneError || r == '"' || unicode.IsSpace(r) || !unicode.IsPrint(r) || unicode.Is(unicode.Cf, r)
	}
	if s == "" || strings.ContainsFunc(s, odd) {
		s = strconv.QuoteToASCII(s)
	}
	return s + more
}

// guarded runs f and turns a panic into an error: what a server sends must not end the hub.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %s", ErrPanic, shown(fmt.Sprint(r)))
		}
	}()
	return f()
}
