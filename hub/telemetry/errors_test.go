package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/upstream"
)

// incomparable is an error that == panics on, and that wraps itself.
type incomparable struct{ _ []int }

func (e incomparable) Error() string { return canary }
func (e incomparable) Unwrap() error { return e }

// What is said of an error says what it is, and nothing that it quotes.
func TestTextsOfErrors(t *testing.T) {
	malformed := func(args string) error {
		_, err := hub.ParseArguments([]byte(args))
		return err
	}
	var typeError error = json.Unmarshal([]byte(`{"a":"`+canary+`"}`), &struct{ A int }{})
	for _, x := range []struct {
		err        error
		want, kind string
	}{
		{errors.New(canary), "*errors.errorString (its text is left out)", "_OTHER"},
		{fmt.Errorf("%s: %w", canary, upstream.ErrDown), "the server is not connected", "server_down"},
		{&upstream.Error{Server: "fs", Op: "tools/call", Err: upstream.ErrLost}, "server fs: tools/call: the connection ended while the call was running", "server_lost"},
		{&upstream.Error{Server: "fs", Op: "tools/call", Err: &jsonrpc.Error{Code: 7, Message: canary}}, "server fs: tools/call: JSON-RPC error 7", "_OTHER"},
		{&jsonrpc.Error{Code: -32602, Message: canary, Data: json.RawMessage(`"` + canary + `"`)}, "JSON-RPC error -32602", "-32602"},
		{&engine.PredicateError{Predicate: "p", Err: errors.New(canary)}, "predicate p: *errors.errorString (its text is left out)", "_OTHER"},
		{&engine.PredicateError{Predicate: "p", Err: &engine.PanicError{Value: canary}}, "predicate p: panic", "panic"},
		{&hub.PanicError{Func: "Approver", Value: errors.New(canary)}, "Approver panicked", "panic"},
		{fmt.Errorf("%w: %s", upstream.ErrPanic, canary), "panic", "panic"},
		{errors.Join(&engine.ConditionError{Key: "path", Op: "inside", Err: engine.ErrMissing}, errors.New(canary)), `key "path": inside: there is no such value; *errors.errorString (its text is left out)`, "_OTHER"},
		{context.DeadlineExceeded, "context deadline exceeded", "timeout"},
		{&url.Error{Op: "Post", URL: "http://" + canary, Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}, "connection refused", "_OTHER"},
		{&fs.PathError{Op: "open", Path: canary, Err: fs.ErrNotExist}, "file does not exist", "_OTHER"},
		{typeError, "*json.UnmarshalTypeError (its text is left out)", "_OTHER"},
		{malformed(`{"a":` + inexact + `}`), "byte 5: a float64 changes the number", "_OTHER"},
		{malformed(`{"` + canary + `":x}`), "byte 15: not JSON", "_OTHER"},
		{(*jsonrpc.Error)(nil), "*jsonrpc2.WireError (its text is left out)", "_OTHER"},
	} {
		got := safeText(x.err)
		if got != x.want || strings.Contains(got, canary) || strings.Contains(got, inexact) {
			t.Errorf("%T: %q, not %q", x.err, got, x.want)
		}
		if kind := errorType(x.err); kind != x.kind {
			t.Errorf("%T: %s, not %s", x.err, kind, x.kind)
		}
	}
	many := make([]error, 1000)
	for i := range many {
		many[i] = errors.New(canary)
	}
	for _, err := range []error{incomparable{}, errors.Join(many...), errors.Join(errors.Join(many...), incomparable{})} {
		if got := safeText(err); len(got) > 1000 || strings.Contains(got, canary) {
			t.Errorf("%s", got)
		}
	}
}

// The engine says of its conditions that they never name a value; this package relies on it.
func TestConditionsNameNoValues(t *testing.T) {
	args, err := hub.ParseArguments([]byte(`{"path":["` + canary + `"],"n":"` + canary + `","deep":{"` + canary + `":1},"p":"../` + canary + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, rule := range []engine.Rule{
		engine.Arg("path", engine.Inside("/data")), engine.Arg("p", engine.Inside("/data")), engine.Arg("none", engine.Equals("x")),
		engine.Arg("n", engine.Inside("/data")), engine.Arg("/deep/x/y", engine.Equals(1)), engine.Arg("PATH", engine.Equals(1)),
	} {
		p, err := engine.CompilePolicy(engine.PolicyOptions{Deny: []engine.Rule{engine.All(engine.Pattern("fs/*"), rule)}})
		if err != nil {
			t.Fatal(err)
		}
		tool := &engine.Tool{Server: "fs", Name: "x", Raw: json.RawMessage(`{"name":"x"}`)}
		d, _ := p.Evaluate(t.Context(), &engine.Call{Server: "fs", Name: "x", Args: args.Values}, tool, nil)
		if d.Err == nil {
			continue
		}
		told++
		if text := safeText(d.Err); strings.Contains(text, canary) || strings.Contains(text, "left out") {
			t.Errorf("%s", text)
		}
	}
	if told < 4 {
		t.Errorf("only %d of them failed", told)
	}
}
