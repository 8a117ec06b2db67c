package gateway

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub/upstream"
)

func TestURIsGoBothWays(t *testing.T) {
	seen := map[string]engine.Target{}
	for _, id := range []string{"fs", "a.b", "a%41", "größe", "A", "a", "a_b-c~d", "%3A", "日本"} {
		for _, uri := range []string{"file:///x", "demo://a:b/c?d#e", "x", ":", "penstock:fs:x", "item://{id}", "a b\x00\xff"} {
			want := engine.Target{Server: id, Name: uri}
			exposed := ExposeURI(want)
			got, ok := OriginalURI(exposed)
			require.True(t, ok, exposed)
			require.Equal(t, want, got)
			require.NotContains(t, seen, exposed)
			seen[exposed] = want
		}
	}
	require.Equal(t, "penstock:gr%C3%B6%C3%9Fe:file:///a b", ExposeURI(engine.Target{Server: "größe", Name: "file:///a b"}))
}

func TestOtherSpellingsOfAURIAreNone(t *testing.T) {
	for _, exposed := range []string{
		"", "penstock:", "penstock:fs", "penstock:fs:", "penstock::x", "Penstock:fs:x", "penstock:%66s:x", "penstock:gr%c3%b6:x",
		"penstock:%:x", "penstock:%4:x", "penstock:a%2Fb:x", "penstock:a%3Ab:x", "penstock:%FF:x", "penstock:a%G0:x", "file:///x",
	} {
		_, ok := OriginalURI(exposed)
		require.False(t, ok, exposed)
	}
}

func TestAURIThatIsTooLongIsNotThere(t *testing.T) {
	c := &catalogs{}
	c.now.Store(&offers{servers: map[string]upstream.Catalog{"fs": {}}})
	_, ok := c.resolve("penstock:fs:x")
	require.True(t, ok)
	_, ok = c.resolve("penstock:fs:" + strings.Repeat("x", maxURI))
	require.False(t, ok)
}
