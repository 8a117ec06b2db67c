package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheOperatorsWay is what docs/hub.md does before a hub goes live: look, check, pin, then run.
func TestTheOperatorsWay(t *testing.T) {
	f := newFolder(t, map[string]string{
		"policy.yaml": "version: 1\npolicy:\n  default: deny\n  allow: [\"*/*\"]\n",
		"hub.yaml":    "version: 1\nservers: servers.json\npolicy: policy.yaml\nbaseline: approved.json\nonly_approved: true\n",
	})
	f.write("servers.json", f.servers())

	code, out, errs := runPenstock(t, "hub", "check", "-c", f.path("hub.yaml"))
	require.Zero(t, code, "%s%s", out, errs)
	code, out, errs = runPenstock(t, "hub", "catalogs", "-c", f.path("hub.yaml"), "-o", f.path("catalogs"))
	require.Zero(t, code, "%s%s", out, errs)
	files, err := filepath.Glob(f.path("catalogs/*.json"))
	require.NoError(t, err)
	require.Len(t, files, 3)
	code, out, errs = runPenstock(t, "check", "-p", f.path("policy.yaml"), f.path("catalogs"))
	require.Zero(t, code, "%s%s", out, errs)
	require.Contains(t, out, "3 servers, ")
	require.NotContains(t, out, " 0 tools")

	// Everything is approved but one file: those of memory.
	require.NoError(t, os.Rename(f.path("catalogs/memory.json"), f.path("memory.json")))
	code, out, errs = runPenstock(t, "baseline", "create", "-o", f.path("approved.json"), f.path("catalogs"))
	require.Zero(t, code, "%s%s", out, errs)
	h := f.serve(3)
	c := connectGo(t, h.overHTTP(""), nil)
	names := strings.Join(c.tools(), " ")
	require.Contains(t, names, "fs__read_text_file")
	require.NotContains(t, names, "memory__", "what nobody approved is not listed")
	require.Equal(t, outcome{Text: "Echo: hi"}, c.call(echo, object{"message": "hi"}), "the hub and the files agree on fingerprints")
	require.NotEmpty(t, c.call("memory__read_graph", object{}).Err)

	// A hub that cannot be started says where and why.
	f.write("hub.yaml", "version: 1\nservers: servers.json\npolicy: policy.yaml\nlissten: 127.0.0.1:1\n")
	code, _, errs = runPenstock(t, "hub", "-c", f.path("hub.yaml"))
	require.Equal(t, 2, code)
	require.Contains(t, errs, "hub.yaml:4:1")
	require.Contains(t, errs, "listen")
}
