package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// guide returns a section of docs/hub.md, and its blocks of a language.
func guide(t *testing.T, section, language string) (text string, blocks []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/hub.md")
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(page), "\n## "+section)
	require.True(t, ok, "no section %q", section)
	text, _, _ = strings.Cut(text, "\n## ")
	for _, m := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?\n)```\n").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	return text, blocks
}

// TestTheGuidesFirstSection does what section 1 of the guide says, with the server of the lock file.
func TestTheGuidesFirstSection(t *testing.T) {
	text, yaml := guide(t, "1.", "yaml")
	require.Len(t, yaml, 2)
	const npx = "command: npx\n    args: [\"-y\", \"@modelcontextprotocol/server-filesystem\", "
	require.Contains(t, yaml[0], npx)
	f := newFolder(t, map[string]string{
		"hub.yaml":    strings.Replace(yaml[0], npx, "command: "+bin("mcp-server-filesystem")+"\n    args: [", 1),
		"policy.yaml": yaml[1],
	})
	require.NoError(t, os.Mkdir(f.path("shared"), 0o700))
	t.Setenv("HOME", f.dir)

	_, console := guide(t, "1.", "console")
	require.Len(t, console, 1)
	_, printed, _ := strings.Cut(console[0], "\n")
	code, out, errs := runPenstock(t, "hub", "check", "-c", f.path("hub.yaml"))
	require.Zero(t, code, errs)
	server := regexp.MustCompile(`(?m)^server .*$`) // is another command here
	require.Equal(t, server.ReplaceAllString(printed, "server"), server.ReplaceAllString(strings.ReplaceAll(out, f.dir, "/home/me/penstock"), "server"))
	require.Contains(t, text, `"args": ["hub", "-c", `)

	f.write("shared/a.txt", "a")
	var form *mcp.ElicitParams
	c := connectGo(t, f.overStdio(), func(r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		form = r.Params
		return choose("once")(r)
	})
	require.Eventually(t, func() bool { return len(c.tools()) > 10 }, patience, poll)
	require.Equal(t, "a", c.call("fs__read_text_file", object{"path": f.path("shared/a.txt")}).Text)
	require.Nil(t, form)
	move := c.call("fs__move_file", object{"source": f.path("shared/a.txt"), "destination": f.path("shared/b.txt")})
	require.True(t, move.IsError)
	require.Contains(t, move.Text, "Files are not moved from a chat.")
	require.Nil(t, form)
	require.False(t, c.call("fs__write_file", object{"path": f.path("shared/a.txt"), "content": "hello"}).IsError)
	require.Equal(t, "hello", f.read("shared/a.txt"))

	// The question is the one that section 4 shows.
	require.NotNil(t, form)
	four, _ := guide(t, "4.", "yaml")
	_, shown, ok := strings.Cut(four, "````\n")
	require.True(t, ok)
	shown, _, _ = strings.Cut(shown, "\n````")
	require.Equal(t, shown, strings.ReplaceAll(form.Message, f.path("shared"), "/home/me/shared"))
	_ = c.Close()
	require.Contains(t, f.read("audit.jsonl"), `"rule":"no-moves"`)
}

// TestTheGuidesFiles reads every other hub.yaml of the guide.
func TestTheGuidesFiles(t *testing.T) {
	_, yaml := guide(t, "6.", "yaml")
	require.Len(t, yaml, 2)
	f := newFolder(t, map[string]string{
		"hub.yaml":    yaml[0] + yaml[1],
		"policy.yaml": "version: 1\n",
		"reader.yaml": "version: 1\n",
	})
	f.write("servers.json", f.servers())
	cmd := exec.Command(penstock, "hub", "check", "-c", f.path("hub.yaml"))
	cmd.Env = append(os.Environ(), "NIGHTLY_TOKEN=a token of more than sixteen characters")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "nightly")
}
