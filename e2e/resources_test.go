package e2e

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

const (
	openNote = "penstock:fake:note:///open"
	lastNote = "penstock:fake:note:///last"
	notes    = "version: 1\npolicy:\n  scope: [tools, resources]\n  allow: [\"fake/act\", \"resource:fake/*\"]\n"
)

// noteHub is a hub before a server with two notes.
func noteHub(t *testing.T, policy string) (*fake, *folder, *httpHub) {
	s := newFake(t, "Acts.")
	s.setWorld(world{Notes: map[string]string{"open": "0", "last": "0"}})
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
	for _, uri := range []string{openNote, lastNote} {
		require.NoError(t, ts.request("resources/subscribe", object{"uri": uri}, nil))
		require.NoError(t, c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}))
		require.NoError(t, older.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}))
	}

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
	count := func(uri string) (n [3]int) {
		updates(ts, &told)
		updates(stranger, &strange)
		_, byAnswer, _ := c.told()
		_, old, _ := older.told()
		for i, uris := range [][]string{told, byAnswer, old} {
			for _, one := range uris {
				if one == uri {
					n[i]++
				}
			}
		}
		return n
	}
	each := func(n [3]int, least [3]int) bool { return n[0] >= least[0] && n[1] >= least[1] && n[2] >= least[2] }
	more := func(n [3]int) [3]int { return [3]int{n[0] + 1, n[1] + 1, n[2] + 1} }
	set := func(open, last int) {
		s.setWorld(world{Notes: map[string]string{"open": strconv.Itoa(open), "last": strconv.Itoa(last)}})
	}
	// A stream may open a moment after its request was answered, and what is sent until then is lost.
	n := 0
	require.Eventually(t, func() bool {
		n++
		set(n, 0)
		return each(count(openNote), [3]int{1, 1, 1})
	}, patience, 5*poll, "not everybody who subscribed was told")
	m := 0
	require.Eventually(t, func() bool {
		m++
		set(n, m)
		return each(count(lastNote), [3]int{1, 1, 1})
	}, patience, 5*poll)
	before := count(openNote)

	// Whoever may no longer read it hears no more of it.
	f.write("policy.yaml", strings.Replace(notes, "policy:\n", "policy:\n  deny: [\"resource:fake/note:///open\"]\n", 1))
	read := func() error { return ts.request("resources/read", object{"uri": openNote}, nil) }
	require.Eventually(t, func() bool { return read() != nil }, patience, poll)
	require.ErrorContains(t, ts.request("resources/subscribe", object{"uri": openNote}, nil), "Resource not found")
	updated := len(s.calls())
	set(n+1, m)
	require.Eventually(t, func() bool { return len(s.calls()) > updated }, patience, poll)
	last := count(lastNote)
	set(n+1, m+1)
	require.Eventually(t, func() bool { return each(count(lastNote), more(last)) }, patience, poll)

	f.write("policy.yaml", notes)
	require.Eventually(t, func() bool { return read() == nil }, patience, poll)
	require.Equal(t, before, count(openNote), "an update of what was denied came through")
	set(n+2, m+1)
	require.Eventually(t, func() bool { return each(count(openNote), more(before)) }, patience, poll, "who may read it again is not told")
	require.Equal(t, more(before), count(openNote))
	require.Empty(t, strange, "who did not subscribe was told")

	// What was subscribed to does not keep the hub from hearing of its server's lists.
	require.Equal(t, []string{act}, ts.tools())
	ts.seen()
	s.setWorld(world{Notes: map[string]string{"open": "0", "last": "0"}, Tools: map[string]string{"another": "Acts."}})
	ts.notified("notifications/tools/list_changed")
	require.Equal(t, []string{act, "fake__another"}, ts.tools())
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
