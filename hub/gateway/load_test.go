package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/hub"
)

const tokenSum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// loadFiles writes files and loads hub.yaml.
func loadFiles(t *testing.T, files map[string]string, o LoadOptions) (*Config, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	if o.Getenv == nil {
		o.Getenv = func(string) (string, bool) { return "", false }
	}
	c, err := Load(filepath.Join(dir, "hub.yaml"), o)
	if err != nil {
		err = &cut{err, dir + string(filepath.Separator)}
	}
	return c, err
}

// cut is an error without the folder in its text.
type cut struct {
	error
	dir string
}

func (c *cut) Error() string { return strings.ReplaceAll(c.error.Error(), c.dir, "") }

const (
	emptyServers = `{"mcpServers": {}}`
	somePolicy   = "version: 1\npolicy: {allow: [\"fs/read\"]}\n"
)

func TestEverythingThatAFileSays(t *testing.T) {
	c, err := loadFiles(t, map[string]string{
		"hub.yaml": `
version: 1
listen: 127.0.0.1:8410
admin: 127.0.0.1:8411
mcpServers:
  fs: {command: ./fs-server, args: [a], cwd: work}
  web: {url: "https://example.com/mcp"}
policy: policy.yaml
views:
  reader: {policy: policy.yaml}
baseline: approved.json
only_approved: true
ask: {elicit: true, remember: true, expires: 2m, views: [default]}
audit: {file: audit.jsonl, arguments: true}
stdio: {principal: me, view: reader, attributes: {team: x}}
callers:
  - {principal: alice, view: default, token_sha256: "` + tokenSum + `"}
  - {principal: bot, view: reader, token_env: BOT_TOKEN, attributes: {n: 1}}
oauth:
  resource: https://hub.example/mcp
  issuer: https://id.example
  scopes: [mcp]
  views: [{scope: admin, view: reader}]
  default_view: default
  principal_claim: email
refresh: 1m
timeouts: {connect: 1s, call: 2s, session: 3s, drain: 4s}
`,
		"policy.yaml": somePolicy,
	}, LoadOptions{Getenv: func(name string) (string, bool) { return "0123456789abcdef", name == "BOT_TOKEN" }})
	require.NoError(t, err)
	dir := filepath.Dir(c.Path)
	require.Equal(t, "127.0.0.1:8410", c.Listen)
	require.Equal(t, "127.0.0.1:8411", c.Admin)
	require.Equal(t, filepath.Join(dir, "fs-server"), c.Servers["fs"].Command)
	require.Equal(t, "https://example.com/mcp", c.Servers["web"].URL)
	require.Equal(t, []string{"default", "reader"}, sorted(c.Views))
	require.Same(t, c.Views["default"].Policy, c.Views["reader"].Policy, "one file is compiled once")
	require.Nil(t, c.Baseline)
	require.Equal(t, filepath.Join(dir, "approved.json"), c.BaselinePath)
	require.True(t, c.OnlyApproved)
	require.Equal(t, Ask{Elicit: true, Remember: true, Expires: 2 * time.Minute, Views: []string{"default"}}, c.Ask)
	require.Equal(t, Audit{File: filepath.Join(dir, "audit.jsonl"), Arguments: true}, c.Audit)
	require.Equal(t, hub.Caller{Principal: "me", View: "reader", Attributes: map[string]any{"team": "x"}}, c.Stdio)
	require.Len(t, c.Callers, 2)
	require.Equal(t, tokenSum, hex.EncodeToString(c.Callers[0].Token[:]))
	require.Equal(t, sha256.Sum256([]byte("0123456789abcdef")), c.Callers[1].Token)
	require.Equal(t, &OAuth{
		Resource: "https://hub.example/mcp", Issuer: "https://id.example", Scopes: []string{"mcp"},
		Views: []ScopeView{{"admin", "reader"}}, DefaultView: "default", PrincipalClaim: "email",
	}, c.OAuth)
	require.Equal(t, time.Minute, c.Refresh)
	require.Equal(t, Timeouts{Connect: time.Second, Call: 2 * time.Second, Session: 3 * time.Second, Drain: 4 * time.Second}, c.Timeouts)
}

func TestWhatIsLeftOut(t *testing.T) {
	c, err := loadFiles(t, map[string]string{
		"hub.yaml": "version: 1\nservers: mcp.json\npolicy: policy.yaml\n", "mcp.json": emptyServers, "policy.yaml": somePolicy,
	}, LoadOptions{})
	require.NoError(t, err)
	require.Empty(t, c.Listen, "stdio")
	require.Equal(t, Ask{}, c.Ask, "nobody is asked who was not asked for")
	require.Equal(t, hub.Caller{View: hub.DefaultView}, c.Stdio)
	require.Nil(t, c.OAuth)

	files := map[string]string{
		"hub.yaml":    "version: 1\nlisten: 0.0.0.0:1\nservers: mcp.json\npolicy: policy.yaml\nbaseline: b.json\nask: {elicit: true}\n",
		"mcp.json":    emptyServers,
		"policy.yaml": somePolicy,
	}
	c, err = loadFiles(t, files, LoadOptions{Stdio: true})
	require.NoError(t, err)
	require.Empty(t, c.Listen)
	require.True(t, c.Ask.Remember, "there is a baseline to write")
	c, err = loadFiles(t, files, LoadOptions{Listen: "127.0.0.1:2"})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:2", c.Listen)
	require.False(t, c.Ask.Remember, "what one caller approves would be approved for all")
}

// What is wrong is told with its place, and what to do.
func TestBadFiles(t *testing.T) {
	for _, c := range []struct{ name, hub, want string }{
		{"unknown key", "servers: mcp.json\npolicy: policy.yaml\nlissen: x", `hub.yaml:4:1: unknown key "lissen" (did you mean "listen"?)`},
		{"no servers", "policy: policy.yaml", `hub.yaml:1:1: there are no servers (name a file with "servers", or write them under "mcpServers")`},
		{"servers twice", "servers: mcp.json\nmcpServers: {}\npolicy: policy.yaml", "hub.yaml:3:13: mcpServers: the servers stand in a file, too"},
		{"no policy", "servers: mcp.json", `hub.yaml:1:1: the key "policy" is missing`},
		{"no such policy", "servers: mcp.json\npolicy: other.yaml", "hub.yaml:3:9: policy: stat other.yaml"},
		{"no such policy of a view", "servers: mcp.json\npolicy: policy.yaml\nviews: {a: {policy: other.yaml}}", "hub.yaml:4:21: views.a.policy: stat other.yaml"},
		{"a bad policy", "servers: mcp.json\npolicy: bad.yaml", `bad.yaml:2:18: policy.allow[0]: pattern "fs/": `},
		{"bad servers", "servers: bad.json\npolicy: policy.yaml", "bad.json:"},
		{"the default view twice", "servers: mcp.json\npolicy: policy.yaml\nviews: {default: {policy: policy.yaml}}", `the view "default" is what "policy" says`},
		{"no such view", "servers: mcp.json\npolicy: policy.yaml\nviews: {reader: {policy: policy.yaml}}\nstdio: {view: raeder}",
			`hub.yaml:5:15: stdio.view: unknown view "raeder" (did you mean "reader"?)`},
		{"a bad address", "listen: \"8410\"\nservers: mcp.json\npolicy: policy.yaml", `hub.yaml:2:9: listen: "8410" is no address (write host:port`},
		{"no such port", "listen: 127.0.0.1:99999\nservers: mcp.json\npolicy: policy.yaml", `"127.0.0.1:99999" is no address`},
		{"one address for two", "listen: 127.0.0.1:1\nadmin: 127.0.0.1:1\nservers: mcp.json\npolicy: policy.yaml", "admin: it is the address of listen, too"},
		{"bad servers in the file", "mcpServers:\n  a:\n    command: x\n    args: [\"${NONE}\"]\n  b: {}\npolicy: policy.yaml", "hub.yaml:5:12: mcpServers.a.args[0]: "},
		{"one more of them", "mcpServers:\n  a:\n    command: x\n    args: [\"${NONE}\"]\n  b: {}\npolicy: policy.yaml", "hub.yaml:6:6: mcpServers.b: "},
		{"nowhere to write the baseline", "servers: mcp.json\npolicy: policy.yaml\nbaseline: nowhere/b.json", "hub.yaml:4:11: baseline: there is no folder nowhere to write it to"},
		{"from outside", "listen: 0.0.0.0:8410\nservers: mcp.json\npolicy: policy.yaml", "hub.yaml:2:9: listen: 0.0.0.0:8410 can be reached from outside"},
		{"every interface", "listen: \":8410\"\nservers: mcp.json\npolicy: policy.yaml", "can be reached from outside"},
		{"nobody", "servers: mcp.json\npolicy: policy.yaml\ncallers: []", "hub.yaml:4:10: callers: nobody may come in"},
		{"a literal token", "servers: mcp.json\npolicy: policy.yaml\ncallers: [{principal: a, view: default, token: secret-token-of-a}]", "a token does not belong into this file"},
		{"no token", "servers: mcp.json\npolicy: policy.yaml\ncallers: [{principal: a, view: default}]", "callers[0]: a caller has one token"},
		{"two tokens", "servers: mcp.json\npolicy: policy.yaml\ncallers: [{principal: a, view: default, token_env: SHORT, token_sha256: \"" + tokenSum + "\"}]", "a caller has one token"},
		{"an unset variable", "servers: mcp.json\npolicy: policy.yaml\ncallers: [{principal: a, view: default, token_env: NONE}]", "the environment variable NONE is not set, or empty"},
		{"a short token", "servers: mcp.json\npolicy: policy.yaml\ncallers: [{principal: a, view: default, token_env: SHORT}]", "the token in SHORT has 15 characters (take at least 16"},
		{"no SHA-256", "servers: mcp.json\npolicy: policy.yaml\ncallers: [{principal: a, view: default, token_sha256: abc}]", "it is no SHA-256 in hex, which has 64 digits"},
		{"the SHA-256 of nothing", "servers: mcp.json\npolicy: policy.yaml\ncallers: [{principal: a, view: default, token_sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855}]",
			"it is the SHA-256 of nothing"},
		{"one token for two", "servers: mcp.json\npolicy: policy.yaml\ncallers:\n- {principal: a, view: default, token_sha256: \"" + tokenSum + "\"}\n- {principal: b, view: default, token_sha256: \"" + tokenSum + "\"}",
			"hub.yaml:6:47: callers[1].token_sha256: it is the token of callers[0], too"},
		{"one principal in two views", "servers: mcp.json\npolicy: policy.yaml\nviews: {r: {policy: policy.yaml}}\ncallers:\n- {principal: a, view: default, token_env: LONG}\n- {principal: a, view: r, token_sha256: \"" + tokenSum + "\"}",
			`"a" is in the view "default" already`},
		{"no such view of a caller", "servers: mcp.json\npolicy: policy.yaml\ncallers: [{principal: a, view: x, token_env: LONG}]", `callers[0].view: unknown view "x"`},
		{"remember what", "servers: mcp.json\npolicy: policy.yaml\nask: {remember: true}", "ask.remember: there is no baseline to write"},
		{"remember whom", "servers: mcp.json\npolicy: policy.yaml\nbaseline: b.json\nask: {elicit: false, remember: true}", "ask.remember: nobody is asked"},
		{"only approved, by what", "servers: mcp.json\npolicy: policy.yaml\nonly_approved: true", "only_approved: nothing is approved without a baseline"},
		{"an unreadable baseline", "servers: mcp.json\npolicy: policy.yaml\nbaseline: bad.json", "bad.json:1:"},
		{"a folder for a baseline", "servers: mcp.json\npolicy: policy.yaml\nbaseline: .", "hub.yaml:4:11: baseline: read"},
		{"a bad duration", "servers: mcp.json\npolicy: policy.yaml\nrefresh: 5", "hub.yaml:4:10: refresh: "},
		{"no time at all", "servers: mcp.json\npolicy: policy.yaml\ntimeouts: {call: 0s}", `timeouts.call: "0s" is no duration`},
		{"no scopes", "servers: mcp.json\npolicy: policy.yaml\noauth: {resource: \"https://a/mcp\", issuer: \"https://b\", scopes: [], default_view: default}", "oauth.scopes: there is no scope"},
		{"an insecure issuer", "servers: mcp.json\npolicy: policy.yaml\noauth: {resource: \"https://a/mcp\", issuer: \"http://b\", scopes: [x], default_view: default}", `oauth.issuer: "http://b" will not do`},
		{"a view for nobody", "servers: mcp.json\npolicy: policy.yaml\noauth: {resource: \"https://a/mcp\", issuer: \"https://b\", scopes: [x]}", "oauth: whoever comes in sees nothing"},
		{"a scope without a view", "servers: mcp.json\npolicy: policy.yaml\noauth: {resource: \"https://a/mcp\", issuer: \"https://b\", scopes: [x], views: [{scope: y, view: z}]}", `unknown view "z"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := loadFiles(t, map[string]string{
				"hub.yaml": "version: 1\n" + c.hub + "\n", "mcp.json": emptyServers, "policy.yaml": somePolicy,
				"bad.yaml": "version: 1\npolicy: {allow: [\"fs/\"]}\n", "bad.json": `{"version": 1, "tools": [`,
			}, LoadOptions{Getenv: func(name string) (string, bool) {
				v, ok := map[string]string{"SHORT": "123456789012345", "LONG": "1234567890123456"}[name]
				return v, ok
			}})
			require.ErrorContains(t, err, c.want)
		})
	}
}

// All that is wrong is told at once.
// A server runs in the folder of the file that names it, whichever folder the hub was started in.
func TestWhereServersRun(t *testing.T) {
	c, err := loadFiles(t, map[string]string{
		"hub.yaml":    "version: 1\nservers: mcp.json\npolicy: policy.yaml\n",
		"mcp.json":    `{"mcpServers": {"a": {"command": "node"}, "b": {"command": "./b", "cwd": "c"}, "u": {"url": "https://example.com/mcp"}}}`,
		"policy.yaml": somePolicy,
	}, LoadOptions{})
	require.NoError(t, err)
	dir, err := filepath.Abs(filepath.Dir(c.Path))
	require.NoError(t, err)
	require.Equal(t, "node", c.Servers["a"].Command)
	require.Equal(t, dir, c.Servers["a"].Dir)
	require.Equal(t, filepath.Join(dir, "b"), c.Servers["b"].Command)
	require.Equal(t, filepath.Join(dir, "c"), c.Servers["b"].Dir)
	require.Empty(t, c.Servers["u"].Dir)
}

func TestEveryProblemIsTold(t *testing.T) {
	_, err := loadFiles(t, map[string]string{
		"hub.yaml": "version: 1\nservers: none.json\npolicy: bad.yaml\nbaseline: bad.json\n",
		"bad.yaml": "version: 1\npolicy: {allow: [\"fs/\", \"x/\"]}\n", "bad.json": `{`,
	}, LoadOptions{})
	require.ErrorContains(t, err, "policy.allow[0]")
	require.ErrorContains(t, err, "policy.allow[1]")
	require.ErrorContains(t, err, "hub.yaml:2:10: servers: ")
	require.ErrorContains(t, err, "bad.json:1:")
}

func TestAFileThatIsNotThere(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "hub.yaml"), LoadOptions{})
	require.ErrorIs(t, err, os.ErrNotExist)
}
