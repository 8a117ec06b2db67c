package engine_test

import (
	"context"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

func TestDecideIsEvaluateBehindTheFilter(t *testing.T) {
	f, err := engine.CompileFilter(engine.FilterOptions{Exclude: []engine.Rule{engine.Pattern("*/secret_*")}})
	require.NoError(t, err)
	p, err := engine.CompilePolicy(engine.PolicyOptions{
		Deny:  []engine.Rule{engine.Pattern("*/delete_*"), engine.All(engine.Pattern("fs/write"), engine.Tainted())},
		Ask:   []engine.Rule{engine.Regexp("fs", regexp.MustCompile("^write"))},
		Allow: []engine.Rule{engine.Pattern("fs/read"), engine.Pattern("fs/*")},
	})
	require.NoError(t, err)
	e, err := engine.New(engine.Config{Views: map[string]engine.View{"": {Filter: f, Policy: p}}})
	require.NoError(t, err)
	rep, err := e.Refresh("fs", []engine.Tool{{Name: "read"}, {Name: "write"}, {Name: "Delete-all"}, {Name: "secret.x"}, {Name: "list"}, {Name: ""}, {Name: "dup"}, {Name: "dup"}})
	require.NoError(t, err)
	assert.Equal(t, 5, rep.Tools)
	assert.Len(t, rep.Quarantined, 3)
	v := e.Snapshot().View("")
	var names []string
	for tool := range v.Tools(context.Background(), nil) {
		names = append(names, tool.Name)
	}
	assert.Equal(t, []string{"read", "write", "Delete-all", "list"}, names)
	for _, c := range []struct{ name, want string }{
		{"read", "allow by allow[0] (matched), new tool"},
		{"write", "deny by ask[0] (no_approver), new tool"},
		{"Delete-all", "deny by deny[0] (matched), new tool"},
		{"list", "deny by default (no_match), new tool"},
	} {
		d, err := v.Decide(context.Background(), &engine.Call{Server: "fs", Name: c.name}, nil)
		assert.NoError(t, err)
		assert.Equal(t, c.want, d.String())
		ref, ok := v.Ref("fs", c.name)
		assert.True(t, ok)
		d2, err := v.DecideRef(context.Background(), ref, nil, nil)
		assert.NoError(t, err)
		assert.Equal(t, d, d2)
	}
	d, err := v.Decide(context.Background(), &engine.Call{Server: "fs", Name: "write"}, &engine.Request{Taint: []string{"web"}})
	assert.NoError(t, err)
	assert.Equal(t, "deny by deny[1] (matched), new tool", d.String())
	_, err = v.Decide(context.Background(), &engine.Call{Server: "fs", Name: "secret.x"}, nil)
	assert.Equal(t, engine.ErrNotFound, err)
}
