package hub

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// leakViews are what the caller "model" may know of: nothing with "secret" in it.
func leakViews(t testing.TB) map[string]engine.View {
	return map[string]engine.View{"model": view(t,
		engine.FilterOptions{Exclude: rules("*/*secret*", "hidden/*")},
		engine.PolicyOptions{
			Scope: []engine.Kind{engine.Tools, engine.Resources, engine.Prompts},
			Deny:  rules("resource:*/*secret*", "prompt:*/*secret*"),
			Allow: rules("*/*", "resource:*/*", "prompt:*/*"), AllowNewTools: true,
		})}
}

func leakWorld(t testing.TB, secrets bool) *world {
	w := newWorld(t, leakViews(t), func(o *GuardOptions) { o.PageSize = 3 }, &mcp.ServerOptions{PageSize: 2})
	w.add("fs", "a", "b", "c", "d", "e")
	w.addPrompts("greet", "part", "say")
	w.addResources("fs://a", "fs://b", "fs://c", "fs://d", "fs://t/{x}")
	if secrets {
		w.add("fs", "a_secret", "bb_secret", "c_secret", "e_secret")
		w.add("hidden", "x", "y", "z")
		w.addPrompts("a_secret", "z_secret")
		w.addResources("fs://a_secret", "fs://b_secret", "db://secret", "fs://secret/{x}", "db://{secret}")
	}
	return w
}

// probes are requests that try to tell what is hidden from what is not there.
func probes() (out [][2]string) {
	add := func(method, params string) { out = append(out, [2]string{method, params}) }
	for _, tool := range []string{"fs__a", "fs__a_secret", "hidden__x", "hidden__none", "a_secret", "", "FS__A_SECRET"} {
		for _, args := range []string{``, `,"arguments":{}`, `,"arguments":[]`, `,"arguments":{"a":1,"a":2}`} {
			add("tools/call", `{"name":"`+tool+`"`+args+`}`)
		}
		add("tools/call", `{"name":"`+tool+`","requestState":"x","inputResponses":{"a":{"action":"accept"}}}`)
	}
	for _, uri := range []string{"fs://a", "fs://a_secret", "fs://secret/1", "db://secret", "fs://t/secret", "fs://nothing", "none://x", ""} {
		add("resources/read", `{"uri":"`+uri+`"}`)
		add("resources/subscribe", `{"uri":"`+uri+`"}`)
		add("resources/unsubscribe", `{"uri":"`+uri+`"}`)
		add("completion/complete", `{"ref":{"type":"ref/resource","uri":"`+uri+`"},"argument":{"name":"x","value":"s"}}`)
	}
	for _, uri := range []string{"fs://t/{x}", "fs://secret/{x}", "db://{secret}"} {
		add("completion/complete", `{"ref":{"type":"ref/resource","uri":"`+uri+`"},"argument":{"name":"x","value":"s"}}`)
	}
	for _, p := range []string{"greet", "a_secret", "z_secret", "none"} {
		add("prompts/get", `{"name":"`+p+`"}`)
		add("prompts/get", `{"name":"`+p+`","arguments":{"a":"b"}}`)
		add("completion/complete", `{"ref":{"type":"ref/prompt","name":"`+p+`"},"argument":{"name":"x","value":"s"}}`)
	}
	add("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["fs://a_secret","db://secret"]}}`)
	add("subscriptions/listen", `{}`)
	add("server/discover", `{}`)
	add("acme/secret", `{}`)
	return out
}

// lists asks for every page of every list.
func lists(c *wire) (out []string) {
	for _, method := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
		params := "{}"
		for range 20 {
			answer := c.do(method, params)
			out = append(out, method+" "+params+" "+answer)
			_, cursor, more := strings.Cut(answer, `"nextCursor":"`)
			if !more {
				break
			}
			cursor, _, _ = strings.Cut(cursor, `"`)
			params = `{"cursor":"` + cursor + `"}`
		}
		out = append(out, c.do(method, `{"cursor":"bad"}`), c.do(method, `{"cursor":"dG9vbHM6ZnNfX2Ffc2VjcmV0"}`))
	}
	return out
}

// Whatever a caller asks, the answers are the same, byte for byte, whether hidden things are there or not.
func TestHiddenCannotBeToldFromUnknown(t *testing.T) {
	for _, modern := range []bool{true, false} {
		t.Run(fmt.Sprintf("modern=%v", modern), func(t *testing.T) {
			with, without := leakWorld(t, true), leakWorld(t, false)
			a, b := with.wire("model", modern), without.wire("model", modern)
			la, lb := lists(a), lists(b)
			if len(la) != len(lb) || len(la) < 12 {
				t.Fatalf("%d and %d pages", len(la), len(lb))
			}
			for i := range la {
				if la[i] != lb[i] {
					t.Errorf("with:    %s\nwithout: %s", la[i], lb[i])
				}
				if strings.Contains(la[i], "secret") || strings.Contains(la[i], "hidden") {
					t.Errorf("named: %s", la[i])
				}
				if strings.Contains(la[i], "cacheScope") && !strings.Contains(la[i], `"cacheScope":"private"`) {
					t.Errorf("shared: %s", la[i])
				}
			}
			results := 0
			for _, p := range probes() {
				x, y := a.do(p[0], p[1]), b.do(p[0], p[1])
				if x != y {
					t.Errorf("%s %s\nwith:    %s\nwithout: %s", p[0], p[1], x, y)
				}
				if strings.Contains(x, "cacheScope") && !strings.Contains(x, `"cacheScope":"private"`) {
					t.Errorf("shared: %s", x)
				}
				if strings.Contains(x, `"result"`) {
					results++
				}
			}
			if results < 10 {
				t.Errorf("only %d probes were answered with a result", results)
			}
			if ran, _ := with.calls(); len(ran) == 0 {
				t.Error("no tool ran")
			}
		})
	}
}

// What the guard says of what is not there is what the SDK says of it.
func TestUnknownIsSaidInTheWordsOfTheSDK(t *testing.T) {
	for _, modern := range []bool{true, false} {
		w := leakWorld(t, true)
		bare := newWorld(t, nil, nil, nil)
		plain := mcp.NewServer(&mcp.Implementation{Name: "hub", Version: "1"}, &mcp.ServerOptions{
			Capabilities: capabilities(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		bare.server = plain
		a, b := w.wire("model", modern), bare.wire("model", modern)
		for _, p := range [][2]string{
			{"tools/call", `{"name":"fs__a_secret"}`},
			{"tools/call", `{"name":"no such \"tool\"\u0001\ud83d\ude00\u00ff"}`},
			{"resources/read", `{"uri":"fs://a_secret"}`},
			{"resources/read", `{"uri":"none://\u00e4 \"q\""}`},
			{"prompts/get", `{"name":"z_secret"}`},
			{"tools/list", `{"cursor":"bad"}`},
			{"prompts/list", `{"cursor":"!!"}`},
			{"no/such", `{}`},
		} {
			if x, y := a.do(p[0], p[1]), b.do(p[0], p[1]); x != y {
				t.Errorf("%s %s\nguard: %s\nSDK:   %s", p[0], p[1], x, y)
			}
		}
	}
}

type custom struct{ mcp.ParamsBase }
type customResult struct{ mcp.ResultBase }

// A method that somebody added behind the guard's back is one that is not there, unless it is meant to pass.
func TestUnknownMethodsFailClosed(t *testing.T) {
	for _, pass := range []bool{false, true} {
		w := newWorld(t, leakViews(t), func(o *GuardOptions) {
			if pass {
				o.Methods = []string{"acme/search"}
			}
		}, nil)
		called := false
		err := mcp.AddReceivingCustomMethod(w.server, "acme/search", customHandler(&called))
		if err != nil {
			t.Fatal(err)
		}
		c := w.wire("model", true)
		got, unknown := c.do("acme/search", `{}`), c.do("acme/none", `{}`)
		if pass != called {
			t.Errorf("pass %v, but called %v", pass, called)
		}
		if same := strings.ReplaceAll(got, "search", "none") == unknown; same == pass {
			t.Errorf("pass %v: %s, and for one that is not there %s", pass, got, unknown)
		}
	}
	if _, err := NewGuard(GuardOptions{Engine: &engine.Engine{}, Methods: []string{"tools/call"}}); err == nil {
		t.Error("tools/call may pass without being judged")
	}
}

// list_changed reaches a caller exactly when something it sees has changed.
func TestListChangedTellsOnlyOfWhatIsSeen(t *testing.T) {
	for _, modern := range []bool{true, false} {
		t.Run(fmt.Sprintf("modern=%v", modern), func(t *testing.T) {
			w := leakWorld(t, true)
			c := w.wire("model", modern)
			lists(c)
			if modern {
				c.start("subscriptions/listen", `{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`)
			}
			if c.quiet(100 * time.Millisecond); modern {
				t.Log(c.until(func(all string) bool { return all != "" })) // the subscription is in force
			}
			c.others = nil
			w.add("fs", "another_secret")
			w.addPrompts("another_secret")
			w.addResources("fs://another_secret", "fs://more/secret/{x}")
			w.server.RemoveResources("fs://a_secret")
			w.server.RemoveTools("hidden__x")
			if got := c.quiet(150 * time.Millisecond); len(got) != 0 {
				t.Errorf("told of what is hidden: %v", got)
			}
			w.add("fs", "another")
			w.addPrompts("another")
			w.addResources("fs://another")
			got := c.until(func(all string) bool {
				return strings.Contains(all, "tools/list_changed") && strings.Contains(all, "prompts/list_changed") && strings.Contains(all, "resources/list_changed")
			})
			for _, n := range []string{"tools", "prompts", "resources"} {
				if strings.Count(got, "notifications/"+n+"/list_changed") != 1 {
					t.Errorf("%s: %s", n, got)
				}
			}
			if strings.Contains(got, "another") {
				t.Errorf("a name in a notification: %s", got)
			}
		})
	}
}

// Updates of a resource end when the policy says so.
func TestUpdatesFollowThePolicy(t *testing.T) {
	for _, modern := range []bool{true, false} {
		w := leakWorld(t, true)
		c := w.wire("model", modern)
		if modern {
			c.start("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["fs://a","fs://a_secret"]}}`)
		} else {
			c.do("resources/subscribe", `{"uri":"fs://a"}`)
			c.do("resources/subscribe", `{"uri":"fs://a_secret"}`)
		}
		if got := c.until(func(all string) bool { return !modern || all != "" }); strings.Contains(got, "secret") {
			t.Errorf("agreed to %s", got)
		}
		c.others = nil
		update := func(want int) string {
			for _, uri := range []string{"fs://a", "fs://a_secret"} {
				w.server.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: uri})
			}
			return c.until(func(all string) bool { return strings.Count(all, "resources/updated") >= want })
		}
		if got := update(1); strings.Count(got, "resources/updated") != 1 || strings.Contains(got, "secret") {
			t.Errorf("modern %v: %q", modern, got)
		}
		c.others = nil
		v := leakViews(t)
		v["model"] = view(t, engine.FilterOptions{}, engine.PolicyOptions{Scope: []engine.Kind{engine.Resources}, Deny: rules("resource:fs/*")})
		if err := w.engine.Apply(engine.Config{Views: v}); err != nil {
			t.Fatal(err)
		}
		if got := update(0); got != "" {
			t.Errorf("modern %v: after the policy changed: %q", modern, got)
		}
	}
}
