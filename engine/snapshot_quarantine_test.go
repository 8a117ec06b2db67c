package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

func TestRefreshQuarantinesNamesThatCannotBeShown(t *testing.T) {
	long := strings.Repeat("n", 1024)
	for _, c := range []struct {
		name   string
		reason string // "": the tool is let in
	}{
		{"", "the name is empty"},
		{long, ""},
		{long + "n", "the name has 1025 bytes, more than 1024"},
		{strings.Repeat("é", 512), ""},
		{strings.Repeat("é", 512) + "n", "the name has 1025 bytes, more than 1024"},
		{"\xff", "the name is not valid UTF-8"},
		{"a\xc3", "the name is not valid UTF-8"},
		{"\xed\xa0\x80", "the name is not valid UTF-8"},
		{"a\x00b", "the name holds the invisible character U+0000"},
		{"a\n", "the name holds the invisible character U+000A"},
		{"\x7f", "the name holds the invisible character U+007F"},
		{"a\u0085", "the name holds the invisible character U+0085"},
		{"\u200bread", "the name holds the invisible character U+200B"},
		{"re\u00adad", "the name holds the invisible character U+00AD"},
		{"\u202eread", "the name holds the invisible character U+202E"},
		{"read\U000e0041", "the name holds the invisible character U+E0041"},
		{"\ufeffread", "the name holds the invisible character U+FEFF"},
		{"\ufffd", ""}, // the character itself, written down
		{"a/b", ""}, {"*", ""}, {"a:b", ""}, {" ", ""}, {"é", ""}, {"😀", ""}, {"READ", ""},
	} {
		e := openEngine(t)
		report, err := e.Refresh("s", []engine.Tool{{Name: "before"}, {Name: c.name}, {Name: "after"}})
		require.NoError(t, err)
		v := e.Snapshot().View("")
		want := []string{"s before", "s " + c.name, "s after"}
		_, err = v.Decide(ctx, &engine.Call{Server: "s", Name: c.name}, nil)
		_, ok := v.Ref("s", c.name)
		if c.reason == "" {
			assert.NoError(t, err, "%q", c.name)
			assert.True(t, ok, "%q", c.name)
			assert.Empty(t, report.Quarantined, "%q", c.name)
		} else {
			want = []string{"s before", "s after"}
			assert.Equal(t, engine.ErrNotFound, err, "%q", c.name)
			assert.False(t, ok, "%q", c.name)
			assert.Equal(t, []engine.Quarantine{{Index: 1, Name: c.name, Reason: c.reason}}, report.Quarantined, "%q", c.name)
		}
		assert.Equal(t, len(want), report.Tools)
		assert.Equal(t, want, names(e.Snapshot()))
	}
}

func TestRefreshQuarantinesEveryCopyOfAName(t *testing.T) {
	e := openEngine(t)
	report, err := e.Refresh("s", []engine.Tool{
		{Name: "a", Fingerprint: "1"}, {Name: "b"}, {Name: "a", Fingerprint: "2"}, {Name: "A"}, {Name: ""}, {Server: "s", Name: "a"}, {Name: ""}, {Name: "b-c"}, {Name: "b_c"},
		{Name: "twice"}, {Name: "twice"},
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"s b", "s A", "s b-c", "s b_c"}, names(e.Snapshot()), "names that differ in spelling alone are different tools")
	assert.Equal(t, []engine.Quarantine{
		{0, "a", "the name stands 3 times in the list"}, {2, "a", "the name stands 3 times in the list"},
		{4, "", "the name is empty"}, {5, "a", "the name stands 3 times in the list"}, {6, "", "the name is empty"},
		{9, "twice", "the name stands 2 times in the list"}, {10, "twice", "the name stands 2 times in the list"},
	}, report.Quarantined)
	refresh(t, e, "s", "a")
	assert.Equal(t, []string{"s a"}, names(e.Snapshot()), "a later list is judged by itself")
}
