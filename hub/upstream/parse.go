// Reading how servers are reached, as Claude Desktop, Claude Code, Cursor, VS Code and others write it:
//
//	{"mcpServers": {
//	  "fs":   {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/data"]},
//	  "docs": {"url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${DOCS_TOKEN}"}}
//	}}
//
// An entry must not be misread: a key that is not known may be a misspelt one that was to restrict something. So the keys
// that other clients have, and that mean nothing here, are listed, and every other one is an error.

package upstream

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// ignored are the keys of an entry that other clients have and that change nothing here: how they show a server, how long
// they wait, and which of its tools they call without asking. What may be called is for the policy to say.
var ignored = []string{
	"alwaysAllow", "autoApprove", "trust", // what it may do
	"description", "name", "icon", "title", "version", "gallery", "note", "notes", "tags", "_comment", "$schema", // how it is shown
	"timeout", "startupTimeout", "initTimeout", "startup_timeout_sec", "tool_timeout_sec", "dev", // how it is run
}

// restricting are the keys by which other clients take something away. To read them over would give it back.
var restricting = map[string]string{
	"disabledTools":  excludeHint,
	"excludeTools":   excludeHint,
	"enabledTools":   includeHint,
	"includeTools":   includeHint,
	"sandboxEnabled": "the hub has no sandbox to run it in (take it out, or let the command start one)",
}

const (
	excludeHint = `it takes nothing away here (take it out, and write the tools under filter.exclude of the policy, as "SERVER/TOOL")`
	includeHint = `it takes nothing away here (take it out, and write the tools under filter.include of the policy, as "SERVER/TOOL")`
)

// ParseServers reads a configuration of servers: a JSON object with the key mcpServers, or servers, as clients of MCP
// have it. Other keys beside it are another program's and are not looked at. name is the file's, for messages. getenv
// looks up a variable, as os.LookupEnv does; nil finds none.
//
// The result has an entry for each server, disabled ones included. The error, a *policyfile.Error, holds every bad entry
// with file, line and column; no message holds a value of the environment, of a header, or an argument. With an error
// there is no result.
//
// In command, args, env, cwd, url and headers, ${VAR} is the variable VAR, which must be set, and ${VAR:-default} has a
// default. The keys that other clients have and that change nothing here, such as autoApprove, timeout or description,
// are skipped; those that would take tools away, such as disabledTools, are errors unless they are empty.
func ParseServers(name string, data []byte, getenv func(string) (string, bool)) (map[string]Server, error) {
	var servers map[string]Server
	err := policyfile.Read(data, policyfile.Options{File: name}, func(v policyfile.Value) {
		servers = readDocument(v, getenv)
	})
	if err != nil {
		return nil, err
	}
	return servers, nil
}

func readDocument(v policyfile.Value, getenv func(string) (string, bool)) (servers map[string]Server) {
	const key, other = "mcpServers", "servers"
	if !v.IsObject() {
		v.Fail(`want an object with the key "mcpServers"`)
		return nil
	}
	has, hasOther := v.Has(key), v.Has(other)
	switch {
	case has && hasOther:
		v.Fail("it has both %q and %q (keep one)", key, other)
		return nil
	case !has && !hasOther:
		for _, k := range v.Keys() {
			if strings.EqualFold(strings.Trim(k, "_- "), key) || strings.EqualFold(strings.ReplaceAll(k, "_", ""), key) || strings.EqualFold(k, "mcpServer") {
				v.Fail("unknown key %s (did you mean %q?)", shown(k), key)
				return nil
			}
		}
		v.Fail("the key %q is missing", key)
		return nil
	}
	each(v, func(k string, v policyfile.Value) {
		if k == key || k == other {
			servers = ReadServers(v, getenv)
		}
	})
	return servers
}

// each calls f with every member of an object. Keys that stand twice have been reported by whoever read the notation.
func each(v policyfile.Value, f func(key string, v policyfile.Value)) {
	var keys []policyfile.Key
	for _, k := range v.Keys() {
		keys = append(keys, policyfile.Key{Name: k, Read: func(v policyfile.Value) { f(k, v) }})
	}
	v.Object("an object", keys...)
}

// ReadServers reads what ParseServers finds under mcpServers. What is wrong goes into the error of [policyfile.Read].
func ReadServers(v policyfile.Value, getenv func(string) (string, bool)) map[string]Server {
	if getenv == nil {
		getenv = func(string) (string, bool) { return "", false }
	}
	servers := map[string]Server{}
	if !v.IsObject() {
		v.Fail("want an object of servers by id")
		return servers
	}
	each(v, func(id string, v policyfile.Value) {
		if err := engine.CheckServerID(id); err != nil {
			v.Fail("%w: give it another one, such as %q", err, suggestID(id))
		}
		if s, ok := (&entry{getenv: getenv}).read(v); ok {
			servers[id] = s
		}
	})
	return servers
}

// suggestID returns a server id that looks like the one that is refused.
func suggestID(id string) string {
	id = strings.Map(func(r rune) rune {
		if engine.CheckServerID(string(r)) != nil {
			return '-'
		}
		return r
	}, strings.ToValidUTF8(id, "-"))
	if id = strings.Trim(id, "-"); id == "" {
		return "server"
	}
	return id[:min(len(id), 64)]
}

// entry reads one server.
type entry struct {
	getenv func(string) (string, bool)
	s      Server
	kind   string
	bad    bool
}

func (e *entry) fail(v policyfile.Value, format string, args ...any) {
	e.bad = true
	v.Fail(format, args...)
}

// texts of one entry are read without ever showing what they hold.
func (e *entry) text(what string, v policyfile.Value) string {
	if !v.IsText() {
		e.fail(v, "want %s: a string (put it in quotes)", what)
		return ""
	}
	s := plainText(v)
	out, err := expand(s, e.getenv)
	if err == nil && strings.ContainsRune(out, 0) {
		err = errors.New("it holds a NUL character")
	}
	if err != nil {
		e.fail(v, "%w", err)
		return ""
	}
	return out
}

// plainText returns a string, an empty one included, which Value.Text refuses.
func plainText(v policyfile.Value) string {
	s, _ := text(v.Encode())
	return s
}

func (e *entry) texts(what string, v policyfile.Value) map[string]string {
	if !v.IsObject() {
		e.fail(v, "want an object of strings: %s", what)
		return nil
	}
	m := map[string]string{}
	each(v, func(k string, v policyfile.Value) { m[k] = e.text(what, v) })
	return m
}

func (e *entry) read(v policyfile.Value) (Server, bool) {
	if !v.IsObject() {
		v.Fail("want an object that says how the server is reached")
		return Server{}, false
	}
	keys := []policyfile.Key{
		{Name: "command", Read: func(v policyfile.Value) {
			if e.s.Command = e.text("the name or the path of a program", v); e.s.Command == "" && !e.bad {
				e.fail(v, "the command is empty")
			}
		}},
		{Name: "args", Read: func(v policyfile.Value) {
			if !v.IsList() {
				e.fail(v, "want a list of strings: the arguments of the program")
				return
			}
			v.List("arguments", func(v policyfile.Value) { e.s.Args = append(e.s.Args, e.text("an argument", v)) })
		}},
		{Name: "env", Read: func(v policyfile.Value) {
			e.s.Env = e.texts("the value of a variable", v)
			for _, k := range v.Keys() {
				if k == "" || strings.ContainsAny(k, "=\x00") {
					e.fail(v, "%s is not the name of a variable", shown(k))
				}
			}
		}},
		{Name: "cwd", Read: func(v policyfile.Value) { e.s.Dir = e.text("a directory", v) }},
		{Name: "url", Read: e.url},
		{Name: "headers", Read: func(v policyfile.Value) {
			e.s.Headers = e.texts("the value of a header", v)
			for _, k := range v.Keys() {
				e.header(v, k)
			}
		}},
		{Name: "type", Read: e.readKind},
		{Name: "transport", Read: e.readKind},
		{Name: "disabled", Read: func(v policyfile.Value) { e.s.Disabled = e.flag(v) }},
		{Name: "enabled", Read: func(v policyfile.Value) { e.s.Disabled = !e.flag(v) }},
	}
	for _, k := range ignored {
		keys = append(keys, policyfile.Key{Name: k, Read: func(policyfile.Value) {}})
	}
	for _, k := range slices.Sorted(maps.Keys(restricting)) {
		keys = append(keys, policyfile.Key{Name: k, Read: func(v policyfile.Value) {
			if !isEmpty(v) {
				e.fail(v, "%s", restricting[k])
			}
		}})
	}
	known := func(k string) bool {
		return slices.ContainsFunc(keys, func(key policyfile.Key) bool { return key.Name == k })
	}
	for _, k := range v.Keys() {
		e.bad = e.bad || !known(k)
	}
	v.Object("an object", keys...)
	e.check(v)
	return e.s, !e.bad
}

// check looks at the entry as a whole.
func (e *entry) check(v policyfile.Value) {
	command, address := v.Has("command"), v.Has("url")
	switch {
	case v.Has("disabled") && v.Has("enabled"):
		e.fail(v, `it has both "disabled" and "enabled" (keep one)`)
	case v.Has("type") && v.Has("transport"):
		e.fail(v, `it has both "type" and "transport" (keep one)`)
	case command && address:
		e.fail(v, `it has both "command" and "url" (a server is a program or it has a URL)`)
	case !command && !address && !e.bad:
		e.fail(v, `it has neither "command" nor "url"`)
	case e.kind == "stdio" && address:
		e.fail(v, `it is of type "stdio" and has a "url"`)
	case e.kind == "http" && command:
		e.fail(v, `it is of type "http" and has a "command"`)
	case command:
		if v.Has("headers") {
			e.fail(v, `"headers" are for a "url", and it has a "command"`)
		}
	case address:
		for _, k := range []string{"args", "env", "cwd"} {
			if v.Has(k) {
				e.fail(v, `%q is for a "command", and it has a "url"`, k)
			}
		}
	}
}

// isEmpty reports whether a value asks for nothing: null, false and an empty list.
func isEmpty(v policyfile.Value) bool {
	switch string(v.Encode()) {
	case "null", "false", "[]":
		return true
	}
	return false
}

func (e *entry) flag(v policyfile.Value) bool {
	b, ok := v.Bool()
	e.bad = e.bad || !ok
	return b
}

func (e *entry) readKind(v policyfile.Value) {
	kind := ""
	if v.IsText() {
		kind = plainText(v)
	}
	switch kind {
	case "stdio":
		e.kind = "stdio"
	case "http", "streamable-http", "streamableHttp", "streamable_http":
		e.kind = "http"
	case "sse":
		e.fail(v, `the transport "sse" is not supported: it was replaced by streamable HTTP in 2025 (use the server's "http" URL, which often ends in /mcp)`)
	default:
		if !v.IsText() {
			e.fail(v, `want "stdio" or "http"`)
			return
		}
		e.bad = true
		v.FailUnknown("type", kind, []string{"stdio", "http", "streamable-http", "streamableHttp"})
	}
}

func (e *entry) url(v policyfile.Value) {
	before := e.bad
	e.s.URL = e.text("a URL", v)
	if e.bad != before {
		return
	}
	u, err := url.Parse(e.s.URL)
	switch {
	case err != nil:
		e.fail(v, "it is not a URL") // the error would show it
	case u.Scheme != "http" && u.Scheme != "https":
		e.fail(v, "want a URL that begins with http:// or https://")
	case u.Host == "" || u.Hostname() == "":
		e.fail(v, "the URL has no host")
	case u.Fragment != "":
		e.fail(v, "the URL has a fragment (what follows #), which is never sent")
	}
}

// reserved are the headers that the transport sets itself.
var reserved = []string{"accept", "connection", "content-length", "content-type", "last-event-id", "mcp-method", "mcp-name",
	"mcp-protocol-version", "mcp-session-id", "transfer-encoding"}

func (e *entry) header(v policyfile.Value, name string) {
	token := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
	switch value := e.s.Headers[name]; {
	case !token:
		e.fail(v, "%s is not the name of a header", shown(name))
	case slices.Contains(reserved, strings.ToLower(name)):
		e.fail(v, "the header %s is set by the transport (leave it out)", name)
	case strings.ContainsFunc(value, func(r rune) bool { return r != '\t' && r < ' ' || r == 0x7f }):
		e.fail(v, "the value of the header %s holds a control character", name)
	}
	for _, other := range v.Keys() {
		if other < name && strings.EqualFold(other, name) {
			e.fail(v, "the header %s stands there twice, as %s", name, shown(other))
		}
	}
}
