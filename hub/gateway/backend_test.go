package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/approval"
	"github.com/penstock-mcp/penstock/hub/upstream"
)

// What goes wrong behind the guard becomes a sentence that says nothing of how a server is reached, and one without a
// tool in it where the method has none.
func TestErrorsOfServers(t *testing.T) {
	inside := func(err error) error {
		return &upstream.Error{Server: "fs", Op: "tools/call", Err: fmt.Errorf("dial 10.0.0.1: %w", err)}
	}
	for _, c := range []struct {
		err  error
		text string
	}{
		{upstream.ErrChanged, changedText},
		{upstream.ErrNoTool, changedText},
		{upstream.ErrTwice, changedText},
		{upstream.ErrStale, changedText},
		{upstream.ErrDown, downText},
		{upstream.ErrNoServer, downText},
		{upstream.ErrClosed, downText},
		{upstream.ErrTimeout, slowText},
		{upstream.ErrLost, lostText},
		{errors.New("anything else"), brokenText},
	} {
		text, err := told(t.Context(), inside(c.err))
		require.NoError(t, err)
		require.Equal(t, c.text, text)
		err = refused(t.Context(), inside(c.err), false)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "10.0.0.1")
		require.NotContains(t, strings.ToLower(err.Error()), "server of this tool")
	}
	own := &jsonrpc.Error{Code: -32000, Message: "its own words"}
	_, err := told(t.Context(), inside(own))
	require.Equal(t, own, err, "a server's own answer is passed on")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = told(ended, inside(context.Canceled))
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, refused(t.Context(), nil, false))
	require.ErrorIs(t, refused(t.Context(), nil, true), errInternal)
}

// What is not there is so in the words that the SDK and the guard have for it, and in JSON for any URI.
func TestNotFound(t *testing.T) {
	require.True(t, missing(&upstream.Error{Err: &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams}}))
	require.True(t, missing(&upstream.Error{Err: &jsonrpc.Error{Code: -32002}}))
	require.False(t, missing(&upstream.Error{Err: &jsonrpc.Error{Code: jsonrpc.CodeInternalError}}))
	require.False(t, missing(nil))

	require.JSONEq(t, `{"uri":"x:\u007f\u0007"}`, string(notFound("x:\x7f\a").(*jsonrpc.Error).Data))

	fs := newFake(t)
	fs.addOthers()
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("resource:fs/x://*")}, map[string]*fake{"fs": fs}, nil)
	cs := w.local(protocols[0], nil)
	for _, tail := range []string{"a", "<&>", "ü", "\""} {
		errs := []string{}
		for _, uri := range []string{"x://", "y://"} { // allowed, and the server says that there is none; denied
			_, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "penstock:fs:" + uri + tail})
			var e *jsonrpc.Error
			require.ErrorAs(t, err, &e)
			errs = append(errs, strings.ReplaceAll(fmt.Sprint(e.Code, e.Message, string(e.Data)), uri, ""))
		}
		require.Equal(t, errs[0], errs[1])
	}
}

var allowed = engine.Decision{Outcome: engine.Outcome{Action: engine.Allow}}

// A server's question must not be taken for the hub's.
func TestNoServerAsksAsTheHub(t *testing.T) {
	require.False(t, asksAsHub(nil))
	require.False(t, asksAsHub(mcp.InputRequestMap{"mine": &mcp.ElicitParams{}}))
	require.True(t, asksAsHub(mcp.InputRequestMap{"mine": &mcp.ElicitParams{}, approval.InputKey: &mcp.ElicitParams{}}))
}

func TestNoPrincipalTakesUpEverything(t *testing.T) {
	var c calls
	var ends []func()
	for range maxCalls {
		_, done, err := c.begin(t.Context(), "a")
		require.NoError(t, err)
		ends = append(ends, done)
	}
	_, _, err := c.begin(t.Context(), "a")
	require.ErrorIs(t, err, errManyCalls)
	_, done, err := c.begin(t.Context(), "b")
	require.NoError(t, err)
	done()
	ends[0]()
	_, done, err = c.begin(t.Context(), "a")
	require.NoError(t, err)
	done()
	for _, end := range ends[1:] {
		end()
	}
	require.Empty(t, c.of)
	require.Empty(t, c.running)
}

// What is between the caller and the hub stays there, in both directions.
func TestMetadataOfAHopStays(t *testing.T) {
	meta := mcp.Meta{"progressToken": "t", "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": "c", "mine": 1}
	require.Equal(t, mcp.Meta{"mine": 1}, outward(t.Context(), &hub.Judged{Decision: allowed}, meta))
	require.Len(t, meta, 4, "it is a copy")
	for _, j := range []*hub.Judged{{Approved: true, Decision: allowed}, {Decision: engine.Decision{Outcome: engine.Outcome{Action: engine.Ask}}}} {
		require.Empty(t, outward(t.Context(), j, meta), "nobody was shown it")
	}
	require.Equal(t, mcp.Meta{"mine": 1, "progressToken": "t"}, inward(meta))
	require.Nil(t, inward(nil))
}
