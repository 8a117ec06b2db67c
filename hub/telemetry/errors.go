// What may be said of an error.
//
// A server's "no such file: /home/x/diary.txt" quotes an argument, a predicate's error does when its author thought it
// helpful, and a panic's value is anything. The text of an error is therefore told only where its type, or the error
// itself, promises that it names no values; of others it is the type. A chain is walked to its causes, so that what
// somebody wrapped with the name of a server is still recognised.

package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/approval"
	"github.com/penstock-mcp/penstock/hub/upstream"
	"github.com/penstock-mcp/penstock/lockfile"
)

// plain are errors whose text is a constant.
var plain = []error{
	hub.ErrChanged, hub.ErrCannotAsk, hub.ErrCannotGoOn,
	upstream.ErrDown, upstream.ErrChanged, upstream.ErrNoServer, upstream.ErrLost, upstream.ErrNoTool, upstream.ErrTwice,
	upstream.ErrStale, upstream.ErrNotSupported, upstream.ErrTooMuch, upstream.ErrRedirect, upstream.ErrTimeout,
	upstream.ErrClosed, upstream.ErrPanic,
	approval.ErrCannotElicit, approval.ErrDeclined, approval.ErrUnexpected, approval.ErrTooLarge, approval.ErrBusy,
	approval.ErrExpired, approval.ErrUsed, approval.ErrNotTool, approval.ErrSuperseded, approval.ErrGone,
	lockfile.ErrNoFingerprint,
	engine.ErrTargetMismatch, engine.ErrNotFound,
	engine.ErrMissing, engine.ErrWrongType, engine.ErrAmbiguousKey, engine.ErrPathRefused,
	engine.ErrNotJSON, engine.ErrTooDeep, engine.ErrTooLarge,
	engine.ErrSyntax, engine.ErrNoValue, engine.ErrTrailingData, engine.ErrDuplicateKey, engine.ErrInexactNumber,
	context.Canceled, context.DeadlineExceeded,
	mcp.ErrConnectionClosed,
	io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed,
	fs.ErrNotExist, fs.ErrPermission, fs.ErrClosed, exec.ErrNotFound,
}

// maxCauses bounds what is said of an error that wraps many, or wraps without end.
const maxCauses = 8

// safeText returns what may be said of err: never a value that somebody sent.
func safeText(err error) string {
	left := maxCauses
	var b strings.Builder
	describe(&b, err, &left)
	return b.String()
}

// malformedText is safeText for an error of hub.ParseArguments, which is constant where it is not about JSON.
func malformedText(err error) string {
	var e *engine.JSONError
	if errors.As(err, &e) {
		return safeText(err)
	}
	return err.Error()
}

func describe(b *strings.Builder, err error, left *int) {
	if *left <= 0 {
		b.WriteString("…")
		return
	}
	*left--
	for _, p := range plain {
		if same(err, p) {
			b.WriteString(p.Error())
			return
		}
	}
	switch e := err.(type) {
	case *engine.ConditionError, *engine.ValueError, syscall.Errno:
		b.WriteString(err.Error())
		return
	case *engine.JSONError: // its text has the number that it refuses
		if e == nil {
			break
		}
		b.WriteString("byte " + strconv.FormatInt(e.Offset, 10) + ": ")
		for _, p := range plain {
			if errors.Is(e.Err, p) {
				b.WriteString(p.Error())
				return
			}
		}
		describe(b, e.Err, left)
		return
	case *engine.PredicateError:
		if e == nil {
			break
		}
		b.WriteString("predicate " + e.Predicate + ": ")
		describe(b, e.Err, left)
		return
	case *upstream.Error:
		if e == nil {
			break
		}
		b.WriteString("server " + e.Server + ": " + e.Op + ": ")
		describe(b, e.Err, left)
		return
	case *engine.PanicError:
		b.WriteString("panic")
		return
	case *hub.PanicError:
		if e == nil {
			break
		}
		b.WriteString(e.Func + " panicked")
		return
	case *jsonrpc.Error:
		if e == nil {
			break
		}
		b.WriteString("JSON-RPC error " + strconv.FormatInt(e.Code, 10))
		return
	}
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		causes := e.Unwrap()
		for i, cause := range causes {
			if i > 0 {
				b.WriteString("; ")
			}
			describe(b, cause, left)
			if *left <= 0 && i < len(causes)-1 {
				b.WriteString("; …")
				return
			}
		}
		if len(causes) > 0 {
			return
		}
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			describe(b, cause, left)
			return
		}
	}
	fmt.Fprintf(b, "%T (its text is left out)", err)
}

// same is == for errors, of which some cannot be compared.
func same(a, b error) (yes bool) {
	defer func() { _ = recover() }()
	return a == b
}

// code returns the code of a JSON-RPC error that somebody answered with.
func code(err error) (int64, bool) {
	if err == nil {
		return 0, false
	}
	var e *jsonrpc.Error
	if errors.As(err, &e) && e != nil {
		return e.Code, true
	}
	return 0, false
}

// panicked reports whether some function panicked.
func panicked(err error) bool {
	if err == nil {
		return false
	}
	var a *hub.PanicError
	var b *engine.PanicError
	return errors.As(err, &a) || errors.As(err, &b) || errors.Is(err, upstream.ErrPanic)
}

// failed reports whether an event tells of something that failed though it should not.
func failed(e *hub.Event) bool {
	if panicked(e.IdentifyErr) || panicked(e.Err) || e.Decided && panicked(e.Decision.Err) || panicked(e.Approval.Err) {
		return true
	}
	if e.Approval.Err != nil && e.Approval.Verdict == hub.Approved {
		return true // it was to be remembered
	}
	if e.Err == nil || e.Result == hub.ResultMalformed || ofVerdict(e) {
		return false
	}
	if oneOf(e.Err, usual) {
		return false
	}
	if _, answered := code(e.Err); answered && (e.Result == hub.ResultRan || e.Result == hub.ResultPassed) {
		return false
	}
	return true
}

// ofVerdict reports whether the error of an event is the approver's reason and no other.
func ofVerdict(e *hub.Event) bool {
	return e.Err != nil && same(e.Err, e.Approval.Err)
}

// usual are errors of a hub that does what it is for: what was judged is not what is there any more, or a caller wants
// what cannot be had.
var usual = []error{
	context.Canceled, hub.ErrChanged, hub.ErrCannotAsk, hub.ErrCannotGoOn,
	upstream.ErrChanged, upstream.ErrNoTool, upstream.ErrTwice, upstream.ErrStale, upstream.ErrNotSupported,
}

func oneOf(err error, list []error) bool {
	for _, e := range list {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// errorTypes are the errors that a label tells apart.
var errorTypes = []struct {
	name string
	of   []error
}{
	{"canceled", []error{context.Canceled}},
	{"timeout", []error{context.DeadlineExceeded, upstream.ErrTimeout}},
	{"server_down", []error{upstream.ErrDown, upstream.ErrNoServer, upstream.ErrClosed}},
	{"server_lost", []error{upstream.ErrLost}},
	{"unanswered", []error{approval.ErrExpired, approval.ErrBusy}},
	{"declined", []error{approval.ErrDeclined}},
	{"changed", []error{hub.ErrChanged, upstream.ErrChanged, upstream.ErrNoTool, upstream.ErrTwice, upstream.ErrStale}},
}

// errorType is the error.type of what failed: a closed set and the codes of JSON-RPC, so that it can be a label.
func errorType(err error) string {
	if c, ok := code(err); ok {
		return codeLabel(c)
	}
	if panicked(err) {
		return "panic"
	}
	for _, t := range errorTypes {
		if oneOf(err, t.of) {
			return t.name
		}
	}
	return other
}

// codeLabel is a JSON-RPC code as a label: a server may answer with any number, so only reserved ones are told apart.
func codeLabel(c int64) string {
	if -32768 <= c && c <= -32000 {
		return strconv.FormatInt(c, 10)
	}
	return other
}

// other stands for what is not in a closed set, as OpenTelemetry has it.
const other = "_OTHER"
