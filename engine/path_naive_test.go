package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// naivePOSIX is the definition: split, look at every segment, compare the first ones.
func naivePOSIX(root, path string) string {
	if !strings.HasPrefix(path, "/") {
		return "refused"
	}
	segments := func(p string) []string {
		if p == "/" {
			return nil
		}
		return strings.Split(strings.TrimPrefix(p, "/"), "/")
	}
	got := segments(path)
	for _, s := range got {
		if s == "" || s == "." || s == ".." || strings.ContainsAny(s, "\\\x00\n") {
			return "refused"
		}
	}
	want := segments(strings.TrimSuffix(root, "/"))
	if root == "/" {
		want = nil
	}
	if len(got) < len(want) || fmt.Sprint(got[:len(want)]) != fmt.Sprint(want) {
		return "outside"
	}
	return "inside"
}

// naiveWindows is the same below C:\ and an ASCII root.
func naiveWindows(root, path string) string {
	plain := func(p string) string { return strings.ToUpper(strings.ReplaceAll(p, `\`, "/")) }
	root, path = plain(root), plain(path)
	if len(path) < 3 || path[0] < 'A' || 'Z' < path[0] || path[1:3] != ":/" {
		return "refused"
	}
	for _, s := range strings.Split(path[3:], "/") {
		if s == "" && len(path) > 3 || s == "." || s == ".." || strings.HasSuffix(s, ".") || strings.HasSuffix(s, " ") ||
			strings.Contains(s, ":") || strings.Contains(s, "~1") || s == "NUL" || strings.HasPrefix(s, "NUL.") {
			return "refused"
		}
	}
	root = strings.TrimSuffix(root, "/") + "/"
	if strings.HasPrefix(strings.TrimSuffix(path, "/")+"/", root) {
		return "inside"
	}
	return "outside"
}

// TestSmallPathsAgainstTheDefinition goes through every path of up to four segments of a small alphabet.
func TestSmallPathsAgainstTheDefinition(t *testing.T) {
	coarse := func(s string) string {
		if s == "inside" || s == "outside" {
			return s
		}
		return "refused"
	}
	count := map[string]int{}
	var walk func(prefix string, separators, alphabet []string, depth int, check func(path string))
	walk = func(prefix string, separators, alphabet []string, depth int, check func(path string)) {
		check(prefix)
		if depth == 0 {
			return
		}
		for _, s := range separators {
			for _, a := range alphabet {
				walk(prefix+s+a, separators, alphabet, depth-1, check)
			}
		}
	}
	for _, root := range []string{"/", "/a", "/a/", "/a/b", "/a/a/", "/.a"} {
		r := mustRoot(t, root)
		for _, prefix := range []string{"", "a", "."} {
			walk(prefix, []string{"/"}, []string{"", "a", "b", "ab", ".", "..", ".a", "a\\", "\x00"}, 4, func(path string) {
				want := naivePOSIX(root, path)
				require.Equal(t, want, coarse(pathAnswer(r, path)), "%q below %q", path, root)
				count[want]++
			})
		}
	}
	for _, root := range []string{`C:\`, `C:\a`, `C:\a\`, `c:/A/b`} {
		r := mustRoot(t, root)
		for _, prefix := range []string{"", "C:", "c:", "D:", "C", "1:"} {
			walk(prefix, []string{"/", `\`}, []string{"", "a", "A", "ab", "..", "a.", "a:", "a~1", "nul.x"}, 3, func(path string) {
				want := naiveWindows(root, path)
				require.Equal(t, want, coarse(pathAnswer(r, path)), "%q below %q", path, root)
				count[want]++
			})
		}
	}
	t.Log(count)
	for _, answer := range []string{"inside", "outside", "refused"} {
		assert.Greater(t, count[answer], 1_000, answer)
	}
}
