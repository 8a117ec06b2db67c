//go:build unix

package upstream

import (
	"errors"
	"strings"
	"testing"
)

// What a server gets wrong, and why it is down, is told without the secrets it was given.
func TestSecretsAreNotInTheStatus(t *testing.T) {
	const secret = "s3cr3t-s3cr3t-s3cr3t"
	const refuse = `read l; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'; read l; `
	for name, script := range map[string]string{
		"what is not MCP": `echo "token=$TOKEN"; ` + refuse + `echo '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}'; cat >/dev/null`,
		"a list": refuse + `echo '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"prompts":{}},"serverInfo":{"name":"x","version":"1"}}}'
read l; read l; echo '{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"bad token '$TOKEN'"}}'; cat >/dev/null`,
		"its beginning":  refuse + `echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"bad token '$TOKEN'"}}'; cat >/dev/null`,
		"its last words": `echo "bad token $TOKEN" >&2; exit 1`,
	} {
		t.Run(name, func(t *testing.T) {
			h := one(t, Server{Command: "sh", Args: []string{"-c", script}, Env: map[string]string{"TOKEN": secret}})
			st := h.status("s")
			text := problems(st.Problems)
			if st.Err != nil {
				text += st.Err.Error()
			}
			for _, p := range h.last("s").Problems {
				text += p.Error()
			}
			if strings.Contains(text, secret) || !strings.Contains(text, "[hidden]") {
				t.Error(text)
			}
		})
	}
	r := newRedact(Server{URL: "https://user:pass-word-1@example.com/?key=query-secret-1"})
	if s := r.text("pass-word-1 query-secret-1 example.com"); s != "[hidden] [hidden] example.com" {
		t.Error(s)
	}
	r = newRedact(Server{Command: "x", Args: []string{"--api-key=argument-secret-1", "--token", "argument-secret-2", "-v", "plain-argument-1"}})
	if s := r.text("argument-secret-1 argument-secret-2 plain-argument-1"); s != "[hidden] [hidden] plain-argument-1" {
		t.Error(s)
	}
	if err := r.error(ErrDown); err != ErrDown {
		t.Error("an error without secrets is another one")
	}
	if err := r.error(errors.Join(ErrDown, errors.New("pass-word-1"))); !errors.Is(err, ErrDown) {
		t.Error("the cause is lost")
	}
}
