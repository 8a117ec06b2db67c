package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wire makes requests of the newest protocol by hand: what a client of an SDK would not send, or does not show.
type wire struct {
	t          *testing.T
	url, token string
	asks       bool // it says that somebody can be asked
}

// modern is the version of the protocol whose requests stand alone.
const modern = "2026-07-28"

// post sends a request and returns what came back: the status, and the JSON of the answer, byte for byte.
func (w *wire) post(method string, params object) (status int, answer string) {
	w.t.Helper()
	capabilities := object{}
	if w.asks {
		capabilities["elicitation"] = object{}
	}
	sent := object{"_meta": object{
		"io.modelcontextprotocol/protocolVersion":    modern,
		"io.modelcontextprotocol/clientInfo":         object{"name": "wire", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": capabilities,
	}}
	for k, v := range params {
		sent[k] = v
	}
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": sent})
	require.NoError(w.t, err)
	headers := []string{"Mcp-Protocol-Version", modern, "Mcp-Method", method}
	for _, key := range []string{"name", "uri"} {
		if name, ok := params[key].(string); ok {
			headers = append(headers, "Mcp-Name", name)
		}
	}
	status, _, answer = send(w.t, http.MethodPost, w.url, w.token, body, headers...)
	return status, answer
}

// result is post for a request that has to have a result, which it stores.
func (w *wire) result(method string, params object, into any) {
	w.t.Helper()
	status, answer := w.post(method, params)
	require.Equal(w.t, http.StatusOK, status, answer)
	var res struct{ Result json.RawMessage }
	require.NoError(w.t, json.Unmarshal([]byte(answer), &res), answer)
	require.NotEmpty(w.t, res.Result, answer)
	require.NoError(w.t, json.Unmarshal(res.Result, into), answer)
}

// send makes an HTTP request. Of a stream it returns the data of the last event.
func send(t *testing.T, method, url, token string, body []byte, headers ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := (&http.Client{Transport: bearer(token)}).Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	answer := string(text)
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		for line := range strings.Lines(string(text)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				answer = strings.TrimSpace(data)
			}
		}
	}
	return res.StatusCode, res.Header, answer
}
