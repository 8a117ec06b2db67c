package examples

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const page = "../docs/embedding.md"

// trimmed is a text without the indentation of its lines.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return "\n" + strings.TrimSpace(strings.Join(lines, "\n")) + "\n"
}

// blocks returns the Go code in a page, block by block.
func blocks(text string) []string {
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```go *\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

func sources(t *testing.T) []string {
	var all []string
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || path == "docs_test.go" {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, trimmed(string(text)))
		return err
	}))
	return all
}

// stands reports whether whole lines of a source are the block.
func stands(sources []string, block string) bool {
	return slices.ContainsFunc(sources, func(source string) bool { return strings.Contains(source, trimmed(block)) })
}

// Every Go block of the page is a part of a program here, but for its indentation.
func TestThePageShowsTheExamples(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	all := sources(t)
	found := blocks(string(text))
	require.Equal(t, strings.Count(string(text), "```go"), len(found))
	require.Greater(t, len(found), 10)
	for _, block := range found {
		require.True(t, stands(all, block), "no example has this:\n%s", block)
	}
	require.False(t, stands(all, "x := 1\ny := 2"))
	require.False(t, stands(all, strings.TrimSpace(found[0])+"x"))
}

// What the page links to is there.
func TestThePageLinksToWhatIsThere(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	links := regexp.MustCompile(`\]\((\.?[a-z./]+)(#[^)]*)?\)`).FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(links), 5)
	for _, m := range links {
		_, err := os.Stat(filepath.Join(filepath.Dir(page), m[1]))
		require.NoError(t, err)
	}
}
