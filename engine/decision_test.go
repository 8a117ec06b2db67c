package engine_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

func TestTheZeroDecisionDenies(t *testing.T) {
	var d engine.Decision
	assert.Equal(t, engine.Deny, d.Action)
	assert.Equal(t, "deny by none (none)", d.String())
	assert.Zero(t, d.Rule())
	assert.Equal(t, "", d.RuleID())
	assert.Equal(t, `{"action":"deny","source":"none","reason":"none","rule":null,"new":false}`, string(d.AppendJSON(nil)))
	assert.Equal(t, "deny", engine.Action(99).String())
	assert.Equal(t, "none", engine.Source(99).String())
	assert.Equal(t, "none", engine.Reason(99).String())
}

func TestADecisionAsJSONAndInALog(t *testing.T) {
	p, err := engine.CompilePolicy(engine.PolicyOptions{
		Allow: []engine.Rule{engine.Named("a<\"\n\xff>", engine.Pattern("fs/x")).WithMessage("m").At(engine.Position{File: "p", Line: 2, Column: 3})},
	})
	require.NoError(t, err)
	d, err := p.Evaluate(context.Background(), &engine.Call{Server: "fs", Name: "x"}, &engine.Tool{Server: "fs", Name: "x"}, nil)
	require.NoError(t, err)
	var got map[string]any
	text, err := json.Marshal(d)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &got))
	assert.Equal(t, map[string]any{"action": "allow", "source": "allow", "reason": "matched", "rule": "a<\"\n\ufffd>", "new": true}, got)
	assert.Equal(t, engine.RuleInfo{List: engine.ListAllow, ID: "a<\"\n\xff>", Message: "m", Text: `"fs/x"`,
		Position: engine.Position{File: "p", Line: 2, Column: 3}}, d.Rule())

	var b strings.Builder
	slog.New(slog.NewTextHandler(&b, nil)).Info("call", "decision", d)
	assert.Contains(t, b.String(), "decision.action=allow decision.source=allow decision.reason=matched")
	assert.NotContains(t, strings.TrimSpace(b.String()), "\n", "an id broke the log line")

	d, err = p.Evaluate(context.Background(), &engine.Call{Server: "fs", Name: "y"}, &engine.Tool{Server: "fs", Name: "y"}, nil)
	require.NoError(t, err)
	buf := make([]byte, 0, 256)
	assert.Zero(t, testing.AllocsPerRun(100, func() { buf = d.AppendJSON(buf[:0]) }))
	assert.Equal(t, `{"action":"deny","source":"default","reason":"no_match","rule":null,"new":true}`, string(buf))
}
