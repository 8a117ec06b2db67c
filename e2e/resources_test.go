package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

const (
	openNote = "penstock:fake:note:///open"
	notes    = "version: 1\npolicy:\n  scope: [tools, resources]\n  allow: [\"fake/act\", \"resource:fake/*\"]\n"
)

// noteHub is a hub before a server with one note.
func noteHub(t *testing.T, policy string) (*fake, *folder, *httpHub) {
	s := newFake(t, "Acts.")
	s.setWorld(world{Notes: map[string]string{"open": "0"}})
	f := fakeHub(t, s)
	f.write("policy.yaml", policy)
	return s, f, f.serve(1)
}

func TestUpdatesOfAResource(t *testing.T) {
	s, f, h := noteHub(t, notes)
	ts, c := newTSClient(t, object{"url": h.url}), connectGo(t, h.overHTTP(""), nil)
	older := connectGoVersion(t, h.overHTTP(""), nil, "2025-06-18")
	stranger := newTSClient(t, object{"url": h.url})
	require.Equal(t, modern, c.version())
	require.NoError(t, ts.request("resources/subscribe", object{"uri": openNote}, nil))
	require.NoError(t, c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: openNote}))
	require.NoError(t, older.Subscribe(t.Context(), &mcp.SubscribeParams{URI: openNote}))

	var told, strange []string
	updates := func(c *tsClient, into *[]string) {
		for _, e := range c.seen() {
			if e.Notification == "notifications/resources/updated" {
				var p struct{ URI string }
				require.NoError(t, json.Unmarshal(e.Params, &p))
				*into = append(*into, p.URI)
			}
		}
	}
	all := func() [][]string {
		updates(ts, &told)
		updates(stranger, &strange)
		_, modern, _ := c.told()
		_, old, _ := older.told()
		return [][]string{told, modern, old}
	}
	each := func(n int) bool {
		for _, got := range all() {
			if len(got) < n {
				return false
			}
		}
		return true
	}
	s.setWorld(world{Notes: map[string]string{"open": "1"}})
	require.Eventually(t, func() bool { return each(1) }, patience, poll, "not everybody who subscribed was told")

	// Whoever may no longer read it hears no more of it.
	f.write("policy.yaml", strings.Replace(notes, "policy:\n", "policy:\n  deny: [\"resource:fake/note:///open\"]\n", 1))
	read := func() error { return ts.request("resources/read", object{"uri": openNote}, nil) }
	require.Eventually(t, func() bool { return read() != nil }, patience, poll)
	require.ErrorContains(t, ts.request("resources/subscribe", object{"uri": openNote}, nil), "Resource not found")
	updated := len(s.calls())
	s.setWorld(world{Notes: map[string]string{"open": "2"}})
	require.Eventually(t, func() bool { return len(s.calls()) > updated }, patience, poll)
	ts.call(act, object{}) // comes behind the update

	f.write("policy.yaml", notes)
	require.Eventually(t, func() bool { return read() == nil }, patience, poll)
	for _, got := range all() {
		require.Equal(t, []string{openNote}, got, "an update of what was denied came through")
	}
	s.setWorld(world{Notes: map[string]string{"open": "3"}})
	require.Eventually(t, func() bool { return each(2) }, patience, poll, "who may read it again is not told")
	for _, got := range all() {
		require.Equal(t, []string{openNote, openNote}, got)
	}
	require.Empty(t, strange, "who did not subscribe was told")
}

func TestAPersonApprovesAResource(t *testing.T) {
	_, _, h := noteHub(t, "version: 1\npolicy:\n  scope: [resources]\n  ask: [\"resource:fake/note:///open\"]\n")
	ts := newTSClient(t, object{"url": h.url, "elicitation": true})
	decision := "deny"
	var forms []string
	c := connectGo(t, h.overHTTP(""), func(r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		schema, err := json.Marshal(r.Params.RequestedSchema)
		forms = append(forms, r.Params.Message+string(schema))
		if err != nil {
			return nil, err
		}
		return choose(decision)(r)
	})
	require.Equal(t, modern, c.version())
	for _, client := range []requester{ts, c} {
		read := func(answer string) (string, error) {
			decision = answer
			ts.must(object{"op": "answer", "action": "accept", "content": object{"decision": answer}}, nil)
			var res struct{ Contents []struct{ URI, Text string } }
			err := client.request("resources/read", object{"uri": openNote}, &res)
			for _, e := range ts.seen() {
				if e.Elicitation != nil {
					forms = append(forms, e.Elicitation.Message+string(e.Elicitation.RequestedSchema))
				}
			}
			if err != nil {
				return "", err
			}
			require.Len(t, res.Contents, 1)
			require.Equal(t, openNote, res.Contents[0].URI)
			return res.Contents[0].Text, nil
		}
		forms = nil
		_, err := read("deny")
		require.ErrorContains(t, err, "approval of a person")
		text, err := read("once")
		require.NoError(t, err)
		require.Equal(t, "0", text)
		_, err = read("always")
		require.Error(t, err, "a resource cannot be approved for good")
		require.Len(t, forms, 3, "an approval counts once")
		for _, form := range forms {
			require.Contains(t, form, `Resource: "note:///open"`)
			require.NotContains(t, form, "always")
		}
	}

	// Who cannot be asked does not know of it.
	for _, client := range []requester{newTSClient(t, object{"url": h.url}), connectGo(t, h.overHTTP(""), nil)} {
		require.ErrorContains(t, client.request("resources/read", object{"uri": openNote}, nil), "Resource not found")
		var list struct{ Resources []struct{ URI string } }
		require.NoError(t, client.request("resources/list", object{}, &list))
		require.Empty(t, list.Resources)
	}
}
