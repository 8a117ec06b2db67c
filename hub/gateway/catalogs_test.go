package gateway

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub/upstream"
)

// catalogOf is a catalog of one tool.
func catalogOf(t *testing.T, name, description string, shown bool) upstream.Catalog {
	t.Helper()
	raw := []byte(`{"name":"` + name + `","description":"` + description + `"}`)
	f, err := engine.ComputeFingerprint(raw)
	require.NoError(t, err)
	tool := upstream.Tool{Tool: engine.Tool{Server: "fs", Name: name, Raw: raw, Fingerprint: f}}
	if shown {
		tool.Definition = &mcp.Tool{Name: name, Description: description}
	}
	return upstream.Catalog{Server: "fs", Up: true, Tools: []upstream.Tool{tool}}
}

func newTestCatalogs(t *testing.T, changed func(lists)) *catalogs {
	t.Helper()
	filter, err := engine.CompileFilter(engine.FilterOptions{})
	require.NoError(t, err)
	e, err := engine.New(engine.Config{Views: map[string]engine.View{"default": {Filter: filter, Policy: engine.AllowAll()}}})
	require.NoError(t, err)
	return newCatalogs(e, changed)
}

// A list made from a snapshot of a moment ago shows what that snapshot holds, never a later definition under it.
func TestDefinitionsAreThoseOfTheSnapshot(t *testing.T) {
	c := newTestCatalogs(t, nil)
	find := func() *engine.Tool {
		tool, ok := c.engine.Snapshot().View("default").Tool(t.Context(), "fs", "read", &engine.Request{})
		require.True(t, ok)
		return tool
	}
	var tools []*engine.Tool
	for _, d := range []string{"first", "second", "third"} {
		_, err := c.update(catalogOf(t, "read", d, true))
		require.NoError(t, err)
		tools = append(tools, find())
	}
	for i, want := range []string{"", "second", "third"} {
		def, ok := c.definition(tools[i])
		require.Equal(t, want != "", ok)
		if ok {
			require.Equal(t, want, def.Description)
		}
	}
	_, err := c.update(upstream.Catalog{Server: "fs"})
	require.NoError(t, err)
	_, ok := c.definition(tools[2])
	require.False(t, ok)
}

// A tool that cannot be shown cannot be called either.
func TestWhatCannotBeShownIsNotThere(t *testing.T) {
	c := newTestCatalogs(t, nil)
	_, err := c.update(catalogOf(t, "read", "first", false))
	require.NoError(t, err)
	c.flush()
	require.Zero(t, c.now.Load().names.Len())
	_, ok := c.engine.Snapshot().View("default").Tool(t.Context(), "fs", "read", &engine.Request{})
	require.False(t, ok)
}

// Only what changed is told.
func TestOnlyWhatChangedIsTold(t *testing.T) {
	var told []lists
	c := newTestCatalogs(t, func(l lists) { told = append(told, l) })
	step := func(cat upstream.Catalog, want ...lists) {
		t.Helper()
		told = nil
		_, err := c.update(cat)
		require.NoError(t, err)
		c.flush()
		require.Equal(t, want, told)
	}
	cat := catalogOf(t, "read", "first", true)
	step(cat, allLists)
	step(cat)
	step(catalogOf(t, "read", "second", true), toolLists)
	cat = catalogOf(t, "read", "second", true)
	cat.Prompts = []*mcp.Prompt{{Name: "p"}, nil, {Name: "p"}}
	step(cat, promptLists)
	require.Len(t, c.now.Load().promptList, 1, "of what stands twice the first counts")
	cat.Resources = []*mcp.Resource{{URI: "x:a"}, {URI: "x:a"}, nil}
	step(cat, resourceLists)
	require.Len(t, c.now.Load().resources, 1)
	cat.Templates = []*mcp.ResourceTemplate{{URITemplate: "x:{a}"}}
	step(cat, resourceLists)
	step(upstream.Catalog{Server: "fs"}, allLists)
	require.Empty(t, c.now.Load().servers)
	_, ok := c.resolve("penstock:fs:x:a")
	require.False(t, ok, "nothing of a server that is gone")
}

// Names that no server can have do not take anything else with them.
func TestAServerThatNoneCanBe(t *testing.T) {
	c := newTestCatalogs(t, nil)
	bad := catalogOf(t, "read", "first", true)
	bad.Server = "a:b"
	_, err := c.update(bad)
	require.Error(t, err)
	c.flush()
	require.Empty(t, c.now.Load().servers)
}
