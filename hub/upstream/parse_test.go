package upstream

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

func env(pairs ...string) func(string) (string, bool) {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(k string) (string, bool) { v, ok := m[k]; return v, ok }
}

func TestConfigurationsOfOtherClients(t *testing.T) {
	getenv := env("TOKEN", "sesame", "EMPTY", "", "HOST", "h.example", "LOOP", "${TOKEN}")
	for name, c := range map[string]struct {
		text string
		want map[string]Server
	}{
		"claude desktop": {`{"globalShortcut":"x","mcpServers":{"fs":{"command":"npx","args":["-y","pkg","/data"],"env":{"K":"v","N":""}}}}`,
			map[string]Server{"fs": {Command: "npx", Args: []string{"-y", "pkg", "/data"}, Env: map[string]string{"K": "v", "N": ""}}}},
		"claude code": {`{"mcpServers":{"a":{"type":"stdio","command":"${CMD:-run}","args":[],"env":{}},"b":{"type":"http","url":"https://${HOST}/mcp","headers":{"Authorization":"Bearer ${TOKEN}"}}}}`,
			map[string]Server{"a": {Command: "run", Env: map[string]string{}}, "b": {URL: "https://h.example/mcp", Headers: map[string]string{"Authorization": "Bearer sesame"}}}},
		"cursor": {`{"mcpServers":{"a":{"command":"x","env":{"T":"${env:TOKEN}"},"autoApprove":["*"],"alwaysAllow":["y"],"timeout":60,"disabled":true,"disabledTools":[]}}}`,
			map[string]Server{"a": {Command: "x", Env: map[string]string{"T": "sesame"}, Disabled: true}}},
		"vs code": {`{"inputs":[],"servers":{"a":{"type":"http","url":"http://localhost:1/mcp"}}}`,
			map[string]Server{"a": {URL: "http://localhost:1/mcp"}}},
		"others": {`{"mcpServers":{"a":{"transport":"streamable-http","url":"http://x"},"b":{"type":"streamableHttp","url":"http://x","enabled":false},"c":{"command":"x","cwd":"/tmp/${TOKEN}","enabled":true}}}`,
			map[string]Server{"a": {URL: "http://x"}, "b": {URL: "http://x", Disabled: true}, "c": {Command: "x", Dir: "/tmp/sesame"}}},
		"variables": {`{"mcpServers":{"a":{"command":"x","args":["$${TOKEN}","$TOKEN $$ ${EMPTY}|${EMPTY:-d}|${UNSET:-}|${LOOP}"]}}}`,
			map[string]Server{"a": {Command: "x", Args: []string{"${TOKEN}", "$TOKEN $$ |d||${TOKEN}"}}}},
		"none": {`{"mcpServers":{}}`, map[string]Server{}},
		"yaml": {"mcpServers:\n  a:\n    command: x\n", map[string]Server{"a": {Command: "x"}}},
	} {
		got, err := ParseServers("f", []byte(c.text), getenv)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %#v %v", name, got, err)
			for id := range got {
				t.Logf("%+v", map[string]any{"args": got[id].Args, "env": got[id].Env, "h": got[id].Headers})
			}
		}
	}
}

// Each of these is refused with a message that says what to do, and none of the messages holds a secret.
func TestConfigurationsThatAreRefused(t *testing.T) {
	getenv := env("TOKEN", "sesame", "NUL", "a\x00sesame", "LINE", "a\r\nX: sesame", "BADURL", "http://[sesame")
	for text, want := range map[string]string{
		`{"command":"sesame","args":7}`:                   `want an object that says how`,
		`{"a":{"command":"x","arguments":["sesame"]}}`:    `unknown key "arguments"`,
		`{"a":{"command":"x","arg":["sesame"]}}`:          `did you mean "args"?`,
		`{"a":{"command":"x","disable":true}}`:            `did you mean "disabled"?`,
		`{"a":{"command":"x","allowedTools":["sesame"]}}`: `unknown key "allowedTools"`,
		`{"a":{"command":"x","command":"y"}}`:             `command`,
		`{"a":{"command":"x"},"a":{"command":"y"}}`:       `"a"`,
		`{"a":{"command":"x","url":"http://sesame"}}`:     `both "command" and "url"`,
		`{"a":{}}`:                                                           `neither "command" nor "url"`,
		`{"a":[]}`:                                                           `want an object`,
		`{"a":"sesame"}`:                                                     `want an object`,
		`{"a":{"command":""}}`:                                               `the command is empty`,
		`{"a":{"command":["x","sesame"]}}`:                                   `want the name or the path of a program`,
		`{"a":{"command":"x","args":"sesame"}}`:                              `want a list of strings`,
		`{"a":{"command":"x","args":[123456]}}`:                              `want an argument`,
		`{"a":{"command":"x","env":{"K":123456}}}`:                           `want the value of a variable`,
		`{"a":{"command":"x","env":["K=sesame"]}}`:                           `want an object of strings`,
		`{"a":{"command":"x","env":{"A=B":"sesame"}}}`:                       `is not the name of a variable`,
		`{"a":{"command":"x","env":{"K":"${UNSET}"}}}`:                       `the variable UNSET is not set`,
		`{"a":{"command":"x","env":{"K":"${TOKEN"}}}`:                        `has no "}"`,
		`{"a":{"command":"x","env":{"K":"${input:key}"}}}`:                   `is not a variable`,
		`{"a":{"command":"x","env":{"K":"${NUL}"}}}`:                         `NUL`,
		`{"a":{"command":"x","headers":{"A":"sesame"}}}`:                     `"headers" are for a "url"`,
		`{"a":{"url":"http://x","env":{"K":"sesame"}}}`:                      `"env" is for a "command"`,
		`{"a":{"url":"http://x","headers":{"A":"${LINE}"}}}`:                 `control character`,
		`{"a":{"url":"http://x","headers":{"A B":"sesame"}}}`:                `not the name of a header`,
		`{"a":{"url":"http://x","headers":{"Mcp-Session-Id":"sesame"}}}`:     `set by the transport`,
		`{"a":{"url":"http://x","headers":{"x-a":"sesame","X-A":"sesame"}}}`: `stands there twice`,
		`{"a":{"url":"sesame"}}`:                                             `begins with http`,
		`{"a":{"url":"file:///sesame"}}`:                                     `begins with http`,
		`{"a":{"url":"http:///sesame"}}`:                                     `no host`,
		`{"a":{"url":"${BADURL}"}}`:                                          `not a URL`,
		`{"a":{"url":"http://x/#sesame"}}`:                                   `fragment`,
		`{"a":{"type":"sse","url":"http://sesame"}}`:                         `"sse" is not supported`,
		`{"a":{"type":"websocket","url":"ws://sesame"}}`:                     `unknown type "websocket"`,
		`{"a":{"type":5,"url":"http://sesame"}}`:                             `want "stdio" or "http"`,
		`{"a":{"type":"http","command":"sesame"}}`:                           `of type "http" and has a "command"`,
		`{"a":{"type":"stdio","url":"http://sesame"}}`:                       `of type "stdio" and has a "url"`,
		`{"a":{"type":"stdio","transport":"stdio","command":"x"}}`:           `both "type" and "transport"`,
		`{"a":{"command":"x","disabled":"no"}}`:                              `disabled`,
		`{"a":{"command":"x","disabled":false,"enabled":true}}`:              `both "disabled" and "enabled"`,
		`{"my server":{"command":"x"}}`:                                      `such as "my-server"`,
		`{"a/b:c":{"command":"x"}}`:                                          `such as "a-b-c"`,
		`{"":{"command":"x"}}`:                                               `such as "server"`,
	} {
		_, err := ParseServers("f.json", []byte("{\n\"mcpServers\":"+text+"}"), getenv)
		var file *policyfile.Error
		if !errors.As(err, &file) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", text, err, want)
			continue
		}
		for _, e := range file.Entries {
			if !strings.HasPrefix(e.Error(), "f.json:2:") {
				t.Errorf("%s: no place: %v", text, e)
			}
		}
		if s := err.Error(); strings.Contains(s, "sesame") || strings.Contains(s, "123456") {
			t.Errorf("%s\na secret is shown: %s", text, s)
		}
	}
	for text, want := range map[string]string{
		`{}`: `the key "mcpServers" is missing`, `[]`: "want an object", `{"mcpservers":{}}`: `did you mean "mcpServers"?`,
		`{"mcp_servers":{}}`: `did you mean "mcpServers"?`, `{"mcpServers":{},"servers":{}}`: "keep one", `{"mcpServers":[]}`: "want an object of servers",
		`{"mcpServers":{}} x`: "", ``: "", `{"mcpServers":null}`: "want an object of servers",
	} {
		if _, err := ParseServers("f.json", []byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestEveryBadEntryIsReported(t *testing.T) {
	const text = `{"mcpServers":{
 "one":{"comand":"x"},
 "good":{"command":"x"},
 "two":{"url":"x","env":{"A":"${NOPE}"}},
 "a b":{"command":"x"}
}}`
	_, err := ParseServers("f.json", []byte(text), nil)
	for _, want := range []string{`f.json:2:9: mcpServers.one: unknown key "comand" (did you mean "command"?)`, `f.json:4:15: mcpServers.two.url: want a URL`,
		`f.json:4:30: mcpServers.two.env.A: the variable NOPE is not set`, `f.json:5:`} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("no %s in\n%v", want, err)
		}
	}
	var id *engine.ServerIDError
	if !errors.As(err, &id) || id.ID != "a b" {
		t.Error("the cause is lost")
	}
}

func TestAServerDoesNotShowItsSecrets(t *testing.T) {
	for _, s := range []Server{
		{Command: "npx", Args: []string{"sesame"}, Env: map[string]string{"K": "sesame"}},
		{URL: "https://sesame:sesame@host.example/sesame?k=sesame", Headers: map[string]string{"Authorization": "sesame"}, Disabled: true},
		{URL: "sesame"},
	} {
		var b strings.Builder
		slog.New(slog.NewTextHandler(&b, nil)).Info("x", "s", s, "p", &s)
		for _, got := range []string{s.String(), fmt.Sprintf("%v %+v %#v %s", s, s, s, s), fmt.Sprint(&s), fmt.Sprintf("%v %#v", map[string]Server{"a": s}, []Server{s}), b.String()} {
			if strings.Contains(got, "sesame") {
				t.Error(got)
			}
		}
	}
	if got, want := (Server{URL: "https://u:p@host.example/x", Headers: map[string]string{"B": "1", "A": "2"}}).String(), "url https://host.example (headers A, B)"; got != want {
		t.Error(got)
	}
}

// Whatever the text is, what is read has one way to be reached, and an id that servers can
// have; and neither a message nor what is logged of a server holds what a variable held.
func FuzzParseServers(f *testing.F) {
	for _, s := range []string{`{"mcpServers":{"a":{"command":"x","args":["${TOKEN}"],"env":{"A":"${X:-y}"}}}}`,
		`{"servers":{"b":{"type":"http","url":"https://${TOKEN}/","headers":{"A":"Bearer ${TOKEN}"}}}}`, `{"mcpServers":{"a":{"type":"sse"}}}`,
		"mcpServers:\n  a: {command: x}\n", `{"mcpServers":{"a":{"command":"${TOKEN","args":["$${"]}}}`} {
		f.Add([]byte(s))
	}
	const secret = "q9w8e7r6t5z4"
	f.Fuzz(func(t *testing.T, data []byte) {
		servers, err := ParseServers("f", data, func(k string) (string, bool) { return secret, k == "TOKEN" })
		if err != nil {
			if servers != nil {
				t.Fatal("both")
			}
			if strings.Contains(err.Error(), secret) && !strings.Contains(string(data), secret) {
				t.Fatal(err)
			}
			return
		}
		for id, s := range servers {
			if engine.CheckServerID(id) != nil || (s.Command == "") == (s.URL == "") {
				t.Fatalf("%q: %+v", id, s)
			}
			hidden := Server{Args: s.Args, Env: s.Env, Headers: s.Headers, Dir: s.Dir}
			if got := hidden.String(); strings.Contains(got, secret) && !strings.Contains(string(data), secret) {
				t.Fatal(got)
			}
		}
	})
}

// What another client takes away must not come back by being read over.
func TestKeysThatTakeToolsAwayAreRefused(t *testing.T) {
	for key := range restricting {
		read := func(value string) (map[string]Server, error) {
			return ParseServers("mcp.json", []byte(`{"mcpServers":{"a":{"command":"x",`+"\n"+`"`+key+`":`+value+`}}}`), nil)
		}
		for _, value := range []string{`["z"]`, `{"z":true}`, `"z"`, `true`, `1`} {
			servers, err := read(value)
			if servers != nil || err == nil || !strings.Contains(err.Error(), "mcp.json:2:") || !strings.Contains(err.Error(), "take it out") {
				t.Errorf("%s: %s: %v, %v", key, value, servers, err)
			}
		}
		for _, value := range []string{`[]`, `null`, `false`} {
			if servers, err := read(value); err != nil || len(servers) != 1 {
				t.Errorf("%s: %s: %v, %v", key, value, servers, err)
			}
		}
	}
}
