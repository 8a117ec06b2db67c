package engine

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzPath holds what must be true of every root and path: a root is inside itself and so is a plain segment below it;
// an accepted path has no trace of what is refused; inside means that the path begins with the root; and the separator
// of Windows makes no difference.
func FuzzPath(f *testing.F) {
	for _, root := range []string{"/data", "/", `C:\data`, `\\server\share\dir`} {
		for _, path := range []string{"/data/x", "/data/../x", `c:/DATA/x`, `\\server\share\dir\x`, `C:\data\nul.x`, "C:\\\u212a", "/data\xff"} {
			f.Add(root, path)
		}
	}
	f.Fuzz(func(t *testing.T, root, path string) {
		r, err := compilePathRoot(root)
		if err != nil {
			require.Nil(t, r)
			require.NotEmpty(t, err.Error())
			return
		}
		bare := root
		if r.form == posixPath && len(root) > 1 || r.form == drivePath && len(root) > 3 || r.form == sharePath {
			bare = strings.TrimRight(root, `/\`)
		}
		v, _ := r.holds(bare)
		require.Equal(t, verdictYes, v, "%q is inside itself", root)
		v, _ = r.holds(strings.TrimRight(bare, `/\`) + "/some.file")
		require.Equal(t, verdictYes, v, "%q holds its files", root)

		v, refusal := r.holds(path)
		require.Equal(t, v == verdictFailed, refusal != pathAccepted)
		if v == verdictFailed {
			return
		}
		require.True(t, utf8.ValidString(path))
		require.False(t, strings.ContainsFunc(path, unicode.IsControl))
		slashed := path
		if r.form != posixPath {
			slashed = strings.ReplaceAll(path, `\`, "/")
			w, _ := r.holds(slashed)
			require.Equal(t, v, w)
			require.NotContains(t, path[2:], ":")
		}
		require.NotContains(t, slashed[1:], "//")
		for _, s := range strings.Split(slashed, "/") {
			require.NotContains(t, []string{".", ".."}, s)
		}
		if v == verdictYes {
			below := strings.ReplaceAll(strings.TrimRight(root, `/\`), `\`, "/")
			require.GreaterOrEqual(t, len(slashed)*2, len(below))
			if r.form == posixPath {
				require.True(t, slashed == root || strings.HasPrefix(slashed, below+"/") || slashed == below)
			} else {
				require.Equal(t, verdictYes, sameWinName(string([]rune(slashed)[:len([]rune(below))]), below))
			}
		}
	})
}
