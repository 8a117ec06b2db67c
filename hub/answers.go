// What the guard answers itself: the words are the SDK's wherever the SDK has an answer for what is not there, since a
// caller that can tell the two apart can tell hidden from unknown. Tests hold them to each other byte for byte.

package hub

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

const scopePrivate = "private"

// ModernProtocol is the first version whose servers ask by answering, and whose results have a type.
const ModernProtocol = "2026-07-28"

var errInternal = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}

// errInvalid is what the SDK answers to a cursor that it did not make.
var errInvalid = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params"}

// ErrChanged is what an Observer hears of a call that was approved, but that is by now another tool's, or asked about
// for another reason.
var ErrChanged = errors.New("the tool or the question changed while it was being answered")

// ErrCannotAsk is what an Observer hears of a call whose approver wanted to ask by the answer, where the caller's
// version of the protocol has no such answer.
var ErrCannotAsk = errors.New("a session older than " + ModernProtocol + " cannot be asked by an answer")

// ErrCannotGoOn is what an Observer hears of a tool that was approved and then asked for input of its own: its answer
// would come as another call, and the approval was for one.
var ErrCannotGoOn = errors.New("an approved call asked for input, and cannot go on without another approval")

func unknownMethod(method string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q", method)}
}

func unknownTool(name string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
}

func unknownPrompt(name string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %q", name)}
}

// unknownResource is mcp.ResourceNotFoundError with data that is JSON for every URI: the SDK quotes it as Go does.
func unknownResource(uri string) error {
	if err := mcp.ResourceNotFoundError(uri); json.Valid(err.(*jsonrpc.Error).Data) {
		return err
	}
	data, _ := json.Marshal(map[string]string{"uri": uri})
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: data}
}

func malformed(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "arguments: " + err.Error()}
}

// notAllowed is the answer to a resource or a prompt that the caller sees and somebody refused.
func notAllowed(text string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}

const (
	deniedText  = "This call is not allowed here, and trying it again will not change that."
	goOnText    = "This call asked for more input and could not go on, because each call of this tool needs an approval of its own."
	refusedText = "This call needs the approval of a person, and it was not given."
)

// denial tells the model that it may not, in the words of the rule if it has any. Which rule it was, and why, is for
// the operator.
func denial(d engine.Decision) string {
	if m := d.Rule().Message; m != "" {
		return deniedText + " " + m
	}
	return deniedText
}

func refusal(a Approval) string {
	if a.Verdict == Refused && a.Message != "" {
		return a.Message
	}
	return refusedText
}

// Modern reports whether a session speaks [ModernProtocol] or a later version. Nil does not.
func Modern(ss *mcp.ServerSession) bool {
	if ss == nil {
		return false
	}
	p := ss.InitializeParams()
	return p == nil || p.ProtocolVersion >= ModernProtocol
}

// failed returns the result of a tool call that did not run.
func failed(ss *mcp.ServerSession, text string) *mcp.CallToolResult {
	var res mcp.CallToolResult
	if Modern(ss) {
		setType(&res, "complete")
	}
	res.Content = []mcp.Content{&mcp.TextContent{Text: text}}
	res.IsError = true
	return &res
}

// setType sets the type of a result, which the SDK keeps to itself and sets only behind every middleware; reading one
// from JSON sets it, too.
func setType(res json.Unmarshaler, kind string) {
	_ = res.UnmarshalJSON([]byte(`{"resultType":"` + kind + `"}`)) // a constant that the tests read back
}

// pending returns the answer by which a caller is asked for input.
func pending(kind engine.Kind, a Approval) mcp.Result {
	inputs := a.Inputs
	if inputs == nil {
		inputs = mcp.InputRequestMap{}
	}
	switch kind {
	case engine.Resources:
		var res mcp.ReadResourceResult
		setType(&res, "input_required")
		res.InputRequests, res.RequestState, res.CacheScope = inputs, a.State, scopePrivate
		return &res
	case engine.Prompts:
		var res mcp.GetPromptResult
		setType(&res, "input_required")
		res.InputRequests, res.RequestState = inputs, a.State
		return &res
	default:
		var res mcp.CallToolResult
		setType(&res, "input_required")
		res.InputRequests, res.RequestState = inputs, a.State
		return &res
	}
}
