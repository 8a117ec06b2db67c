// JSON-RPC: errors and answers.

package main

import (
	"encoding/json"
	"errors"
	"net/http"
)

const (
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
	internalError  = -32603
)

// rpcError is an error of JSON-RPC: the gate's, or the server's as it came.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns the message.
func (e *rpcError) Error() string { return e.Message }

// write writes an answer: the error, if it is one, or the result.
func write(w http.ResponseWriter, status int, id json.RawMessage, result any, err error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": id}
	var e *rpcError
	switch {
	case errors.As(err, &e):
		answer["error"] = e
	case err != nil:
		answer["error"] = &rpcError{Code: internalError, Message: "internal error"}
	default:
		answer["result"] = result
	}
	body, err := json.Marshal(answer)
	if err != nil { // a server's result that is no JSON
		http.Error(w, "the answer could not be written", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store") // it is one caller's
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
