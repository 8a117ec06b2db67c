package approval

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/stretchr/testify/require"
)

// On both kinds of session, in memory and over HTTP, exactly the plain yes runs a call, once and after one question.
func TestOnlyAYesRunsACall(t *testing.T) {
	accept := func(content map[string]any) form {
		return func(*mcp.ElicitParams) (string, map[string]any) { return "accept", content }
	}
	for way, connect := range ways {
		for what, x := range map[string]struct {
			f   form
			err error // why it is refused; nil: it runs
		}{
			"yes":      {chooses("once"), nil},
			"no":       {chooses("deny"), ErrDeclined},
			"decline":  {func(*mcp.ElicitParams) (string, map[string]any) { return "decline", nil }, ErrDeclined},
			"cancel":   {func(*mcp.ElicitParams) (string, map[string]any) { return "cancel", nil }, ErrDeclined},
			"no, once": {func(*mcp.ElicitParams) (string, map[string]any) { return "decline", map[string]any{"decision": "once"} }, ErrDeclined},
			"nonsense": {func(*mcp.ElicitParams) (string, map[string]any) { return "allow", map[string]any{"decision": "once"} }, ErrUnexpected},
			"more":     {accept(map[string]any{"decision": "once", "more": true}), ErrUnexpected},
		} {
			t.Run(way+"/"+what, func(t *testing.T) {
				var questions []*mcp.ElicitParams
				w := newWorld(t, askAll(), Options{})
				cs := connect(w, "a", user(x.f, &questions))
				text, failed := write(t, cs, map[string]any{"path": "/x"})
				_, read := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "fs://a"})
				_, prompt := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "me"}})
				require.Len(t, questions, 3)
				if x.err != nil {
					require.True(t, failed, text)
					require.Contains(t, text, "approval of a person")
					require.Error(t, read)
					require.Error(t, prompt)
					require.Zero(t, w.ran.Load())
					for _, method := range []string{"tools/call", "resources/read", "prompts/get"} {
						e := w.last(method)
						require.Equal(t, hub.ResultRefused, e.Result)
						require.ErrorIs(t, e.Err, x.err)
					}
					return
				}
				require.Equal(t, "ran", text)
				require.NoError(t, read)
				require.NoError(t, prompt)
				require.EqualValues(t, 3, w.ran.Load())
				e := w.last("tools/call")
				require.Equal(t, hub.Approval{Verdict: hub.Approved, By: "a"}, e.Approval)
				for i, want := range []string{"\nTool: \"write\"\nCaller: \"a\"\nArguments: {\"path\":\"/x\"}\n", "\nResource: \"fs://a\"\n", "\nPrompt: \"greet\"\nCaller: \"a\"\nArguments: {\"who\":\"me\"}\n"} {
					require.Contains(t, questions[i].Message, want)
					require.Contains(t, questions[i].Message, "\nServer: \"fs\"\n")
					require.Equal(t, "form", questions[i].Mode)
				}
			})
		}
	}
}

// An answer that is none of the choices refuses, also where the client lets it through.
func TestAnswersThatWereNotOffered(t *testing.T) {
	for what, content := range map[string]map[string]any{
		"another word": {"decision": "yes"}, "not offered": {"decision": "always"}, "another case": {"decision": "Once"},
		"a boolean": {"decision": true}, "a list": {"decision": []any{"once"}}, "another key": {"Decision": "once"}, "empty": {}, "nil": nil,
	} {
		t.Run(what, func(t *testing.T) {
			q := &question{choices: []string{choiceOnce, choiceDeny}}
			_, err := q.choice(&mcp.ElicitResult{Action: "accept", Content: content})
			require.ErrorIs(t, err, ErrUnexpected)
			for _, way := range []string{"memory 2025-11-25", "HTTP 2025-06-18"} {
				w := newWorld(t, askAll(), Options{})
				_, failed := write(t, ways[way](w, "a", user(func(*mcp.ElicitParams) (string, map[string]any) { return "accept", content }, nil)), nil)
				require.True(t, failed)
				require.Zero(t, w.ran.Load())
			}
		})
	}
}

// The form has the choices with titles, as each version of the protocol has them, and one must be made.
func TestTheForm(t *testing.T) {
	for way, connect := range ways {
		var questions []*mcp.ElicitParams
		w := newWorld(t, askAll(), Options{})
		write(t, connect(w, "a", user(chooses("once"), &questions)), nil)
		choice := map[string]any{"type": "string", "title": "Decision", "enum": []any{"once", "deny"}, "enumNames": []any{"Allow once", "Deny"}}
		if !strings.HasSuffix(way, "2025-06-18") {
			choice = map[string]any{"type": "string", "title": "Decision", "oneOf": []any{
				map[string]any{"const": "once", "title": "Allow once"}, map[string]any{"const": "deny", "title": "Deny"}}}
		}
		require.Equal(t, map[string]any{"type": "object", "required": []any{"decision"}, "properties": map[string]any{"decision": choice}}, questions[0].RequestedSchema, way)
	}
}

// A client that takes no forms is denied by the engine, without a question, on every kind of session.
func TestClientsWithoutForms(t *testing.T) {
	urlOnly := user(chooses("once"), nil)
	urlOnly.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}}
	for way, connect := range ways {
		for what, o := range map[string]*mcp.ClientOptions{"none": nil, "URLs alone": urlOnly} {
			t.Run(way+"/"+what, func(t *testing.T) {
				w := newWorld(t, askAll(), Options{})
				cs := connect(w, "a", o)
				text, failed := write(t, cs, nil)
				e := w.last("tools/call")
				require.True(t, failed, text)
				require.False(t, e.Asked)
				require.Equal(t, hub.ResultDenied, e.Result)
				require.Equal(t, engine.ReasonNoApprover, e.Decision.Reason)
				res, err := cs.ListResources(t.Context(), nil)
				require.NoError(t, err)
				require.Empty(t, res.Resources)
				_, err = cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "fs://a"})
				require.ErrorContains(t, err, "not found")
			})
		}
	}
	// A stateless server knows nothing of a client from before 2026-07-28.
	w := newWorld(t, askAll(), Options{})
	_, failed := write(t, overHTTP("2025-11-25", true)(w, "a", user(chooses("once"), nil)), nil)
	require.True(t, failed)
	require.False(t, w.last("tools/call").Asked)
}

// The wait ends with the expiry, and with the call.
func TestNobodyAnswers(t *testing.T) {
	started, stop := make(chan struct{}, 2), make(chan struct{})
	o := &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		started <- struct{}{}
		<-stop
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "once"}}, nil
	}}
	defer close(stop)
	w := newWorld(t, askAll(), Options{Expiry: 50 * time.Millisecond})
	cs := ways["memory 2025-11-25"](w, "a", o)
	text, failed := write(t, cs, nil)
	require.True(t, failed)
	require.Equal(t, textExpired, text)
	require.ErrorIs(t, w.last("tools/call").Err, ErrExpired)
	<-started

	w.approver.o.Expiry = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "fs__write"})
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool { return errors.Is(w.last("tools/call").Err, context.Canceled) }, 20*time.Second, time.Millisecond)
	require.Zero(t, w.ran.Load())
	require.Empty(t, w.approver.open.of)
}

// No more questions than MaxOpen wait for one principal; others are not kept waiting.
func TestNobodyIsFlooded(t *testing.T) {
	const calls, most = 6, 2
	gate, asked := make(chan struct{}), make(chan struct{}, calls)
	o := &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked <- struct{}{}
		<-gate
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "once"}}, nil
	}}
	for _, way := range []string{"memory 2025-11-25", "memory 2026-07-28"} {
		gate = make(chan struct{})
		w := newWorld(t, askAll(), Options{MaxOpen: most})
		cs, other := ways[way](w, "a", o), ways[way](w, "b", user(chooses("once"), nil))
		texts := make(chan string, calls)
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "fs__write"})
				if err != nil {
					t.Error(err)
					return
				}
				texts <- res.Content[0].(*mcp.TextContent).Text
			})
		}
		for range calls - most {
			require.Equal(t, textBusy, <-texts)
		}
		text, _ := write(t, other, nil)
		require.Equal(t, "ran", text)
		close(gate)
		wg.Wait()
		require.Equal(t, "ran", <-texts)
		require.Equal(t, "ran", <-texts)
		require.Len(t, asked, most)
		for range most {
			<-asked
		}
		require.Empty(t, w.approver.open.of)
	}
}

// What is too large to be shown whole is not asked about, and cut never.
func TestTooLargeToBeShown(t *testing.T) {
	for way, connect := range ways {
		for size, want := range map[int]string{maxExact: textTooLarge, maxExact - 200: "ran", 6000: "ran"} {
			var questions []*mcp.ElicitParams
			w := newWorld(t, askAll(), Options{})
			cs := connect(w, "a", user(chooses("once"), &questions))
			long := strings.Repeat("x", size-1) + "y"
			text, _ := write(t, cs, map[string]any{"content": long})
			require.Equal(t, want, text, way)
			if want == "ran" {
				require.Contains(t, questions[0].Message, long+`"}`)
				continue
			}
			require.Empty(t, questions)
			require.ErrorIs(t, w.last("tools/call").Err, ErrTooLarge)
			require.Zero(t, w.ran.Load())
		}
		// The size that counts is the one that is shown: each of these takes 12 bytes.
		w := newWorld(t, askAll(), Options{})
		text, _ := write(t, connect(w, "a", user(chooses("once"), nil)), map[string]any{"content": strings.Repeat("\U000e0041", 1000)})
		require.Equal(t, textTooLarge, text)
	}
}

// A yes does not outlive what it was given for, on either kind of session.
func TestAYesToWhatHasChanged(t *testing.T) {
	for way, connect := range ways {
		for what, change := range map[string]func(*world){
			"denied":  func(w *world) { w.policy(engine.PolicyOptions{Deny: patterns("fs/*")}, nil) },
			"another": func(w *world) { w.define("Deletes everything.") },
		} {
			t.Run(way+"/"+what, func(t *testing.T) {
				var w *world
				asked := 0
				w = newWorld(t, askAll(), Options{})
				cs := connect(w, "a", user(func(*mcp.ElicitParams) (string, map[string]any) {
					if asked++; asked > 1 {
						return "decline", nil
					}
					change(w)
					return "accept", map[string]any{"decision": "once"}
				}, nil))
				_, failed := write(t, cs, nil)
				require.True(t, failed)
				require.Zero(t, w.ran.Load())
			})
		}
	}
}

// The zero values refuse and do not panic.
func TestNobodyToAsk(t *testing.T) {
	for _, e := range []*Elicitor{nil, {}, New(Options{})} {
		require.False(t, e.CanAsk(t.Context(), hub.Caller{}, nil))
		for _, r := range []*hub.ApprovalRequest{nil, {}, {Kind: engine.Tools}} {
			a, err := e.Approve(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, hub.Refused, a.Verdict)
		}
		_, ok := e.Resume(t.Context(), &hub.ApprovalRequest{State: "x"})
		require.False(t, ok)
	}
	_, err := (*Elicitor)(nil).Suspend(t.Context(), &hub.ApprovalRequest{}, "")
	require.Error(t, err)
}

// A server may ask on its own behalf during an approved call: its question is answered without a second approval, and an
// approval of the one call is none of another.
func TestServersThatAskDuringAnApprovedCall(t *testing.T) {
	w := newWorld(t, askAll(), Options{})
	var got []string
	w.server.AddTool(&mcp.Tool{Name: "fs__write", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n := len(req.Params.RequestState)
		got = append(got, req.Params.RequestState)
		if answer, ok := req.Params.InputResponses["mine"].(*mcp.ElicitResult); ok != (n > 0) || ok && answer.Content["name"] != "me" || len(req.Params.InputResponses) > 1 {
			t.Errorf("%q: %v", req.Params.RequestState, req.Params.InputResponses)
		}
		if n == 2 {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil
		}
		return &mcp.CallToolResult{RequestState: strings.Repeat("s", n+1), InputRequests: mcp.InputRequestMap{"mine": &mcp.ElicitParams{
			Message: "Your name?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}},
		}}}, nil
	})
	var questions []*mcp.ElicitParams
	o := user(func(p *mcp.ElicitParams) (string, map[string]any) {
		if p.Message == "Your name?" {
			return "accept", map[string]any{"name": "me"}
		}
		return "accept", map[string]any{"decision": "once"}
	}, &questions)
	cs := ways["memory 2026-07-28"](w, "a", o)
	text, _ := write(t, cs, map[string]any{"path": "/x"})
	require.Equal(t, "ran", text)
	require.Len(t, questions, 3) // ours, and two of the tool
	require.Equal(t, []string{"", "s", "ss"}, got)
	require.True(t, w.last("tools/call").Resumed)

	// What the tool's question came with is good for this call alone, and once.
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	cs = ways["memory 2026-07-28"](w, "a", o)
	do := func(path, state string, in mcp.InputResponseMap) *mcp.CallToolResult {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "fs__write", Arguments: map[string]any{"path": path}, RequestState: state, InputResponses: in})
		require.NoError(t, err)
		return res
	}
	mine := mcp.InputResponseMap{"mine": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "me"}}}
	res := do("/x", do("/x", "", nil).RequestState, answers("once"))
	require.Contains(t, res.InputRequests, "mine")
	sealed := res.RequestState
	require.NotEqual(t, "s", sealed)
	require.Contains(t, do("/y", sealed, mine).InputRequests, InputKey)
	require.Contains(t, do("/x", "s", mine).InputRequests, InputKey)
	require.Contains(t, do("/x", sealed, mine).InputRequests, "mine")
	require.Contains(t, do("/x", sealed, mine).InputRequests, InputKey)
	require.Equal(t, []string{"", "s", "ss", "", "s"}, got)
}
