// Reading hub.yaml: its form. What its parts refer to is loaded in load.go.

package gateway

import (
	"crypto/sha256"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/upstream"
	"github.com/penstock-mcp/penstock/policyfile"
)

// ref is a file that the configuration names, and where it does.
type ref struct {
	path string
	key  string // for messages
	at   engine.Position
}

// viewName is a view that somebody is put in, and where.
type viewName struct {
	name string
	at   policyfile.Value
}

// reader reads one hub.yaml.
type reader struct {
	c      *Config
	o      LoadOptions
	dir    string
	getenv func(string) (string, bool)

	policies map[string]ref // by view
	servers  ref            // "" where they are inline
	baseline ref
	named    []viewName
	tokens   map[[sha256.Size]byte]int
	listen   policyfile.Value

	remember  policyfile.Value
	remembers bool // it is written down
}

func (r *reader) read(v policyfile.Value) {
	var inline policyfile.Value
	hasServers, hasInline, hasListen := false, false, false
	ok := v.Object("a mapping that begins with version: 1",
		policyfile.Key{Name: "version", Read: policyfile.Value.Version, Required: true},
		policyfile.Key{Name: "listen", Read: func(v policyfile.Value) { r.c.Listen, r.listen, hasListen = r.address(v), v, true }},
		policyfile.Key{Name: "admin", Read: func(v policyfile.Value) { r.c.Admin = r.address(v) }},
		policyfile.Key{Name: "servers", Read: func(v policyfile.Value) { r.servers, hasServers = r.path(v, "servers"), true }},
		policyfile.Key{Name: "mcpServers", Read: func(v policyfile.Value) {
			inline, hasInline = v, true
			r.servers.at, r.servers.key = v.Position(), "mcpServers"
			r.c.Servers = upstream.ReadServers(v, r.getenv)
		}},
		policyfile.Key{Name: "policy", Required: true, Read: func(v policyfile.Value) { r.policies[hub.DefaultView] = r.path(v, "policy") }},
		policyfile.Key{Name: "views", Read: r.views},
		policyfile.Key{Name: "baseline", Read: func(v policyfile.Value) { r.baseline = r.path(v, "baseline") }},
		policyfile.Key{Name: "only_approved", Read: func(v policyfile.Value) { r.c.OnlyApproved, _ = v.Bool() }},
		policyfile.Key{Name: "ask", Read: r.ask},
		policyfile.Key{Name: "audit", Read: r.audit},
		policyfile.Key{Name: "stdio", Read: r.stdio},
		policyfile.Key{Name: "callers", Read: r.callers},
		policyfile.Key{Name: "oauth", Read: r.oauth},
		policyfile.Key{Name: "refresh", Read: func(v policyfile.Value) { r.c.Refresh = duration(v) }},
		policyfile.Key{Name: "timeouts", Read: r.timeouts},
	)
	if !ok {
		return
	}
	switch {
	case hasServers && hasInline:
		inline.Fail("the servers stand in a file, too (keep one of servers and mcpServers)")
	case !hasServers && !hasInline:
		v.Fail(`there are no servers (name a file with "servers", or write them under "mcpServers")`)
	}
	if r.c.Admin != "" && r.c.Admin == r.c.Listen && !strings.HasSuffix(r.c.Admin, ":0") {
		v.Fail("admin: it is the address of listen, too (give it a port of its own)")
	}
	if r.c.OnlyApproved && r.baseline.path == "" {
		v.Fail(`only_approved: nothing is approved without a baseline (name its file with "baseline")`)
	}
	for _, n := range r.named {
		if _, ok := r.policies[n.name]; !ok && n.name != "" {
			n.at.FailUnknown("view", n.name, sorted(r.policies))
		}
	}
	if r.o.Stdio {
		r.c.Listen = ""
	}
	if r.o.Listen != "" {
		r.c.Listen = r.o.Listen
	}
	switch a := &r.c.Ask; {
	case !r.remembers: // left out: yes, where it can be, and where nobody approves for others
		a.Remember = a.Elicit && r.baseline.path != "" && r.c.Listen == ""
	case a.Remember && r.baseline.path == "":
		r.remember.Fail(`there is no baseline to write (name its file with "baseline")`)
	case a.Remember && !a.Elicit:
		r.remember.Fail("nobody is asked whose answer could be remembered (write elicit: true)")
	}
	at := v
	if hasListen && r.o.Listen == "" {
		at = r.listen
	}
	if r.c.Listen != "" && !loopback(r.c.Listen) && !r.c.authenticates() {
		at.Fail("%s can be reached from outside, and anybody could come in (write callers or oauth, or listen on 127.0.0.1)", r.c.Listen)
	}
}

func (r *reader) path(v policyfile.Value, key string) ref {
	text, _ := v.Text("a path")
	return ref{r.under(text), key, v.Position()}
}

// under returns a path as it is meant: relative to the file.
func (r *reader) under(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.dir, path)
}

func (r *reader) address(v policyfile.Value) string {
	text, ok := v.Text("an address")
	if !ok {
		return ""
	}
	if err := checkAddress(text); err != nil {
		v.Fail("%v", err)
		return ""
	}
	return text
}

// checkAddress says what is wrong with an address to listen at.
func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 && port != "0" {
		return fmt.Errorf("%q is no address (write host:port, such as 127.0.0.1:8410)", address)
	}
	return nil
}

// loopback reports whether an address is reached from this machine alone.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func (r *reader) views(v policyfile.Value) {
	if !v.IsObject() {
		v.Object("views by name, such as reader: {policy: reader.yaml}")
		return
	}
	var keys []policyfile.Key
	for _, name := range v.Keys() {
		keys = append(keys, policyfile.Key{Name: name, Read: func(v policyfile.Value) {
			if name == hub.DefaultView {
				v.Fail(`the view "default" is what "policy" says (give this one another name)`)
				return
			}
			if name == "" {
				v.Fail("a view needs a name")
				return
			}
			v.Object("a view, such as {policy: reader.yaml}", policyfile.Key{Name: "policy", Required: true, Read: func(v policyfile.Value) {
				r.policies[name] = r.path(v, "views."+name+".policy")
			}})
		}})
	}
	v.Object("views by name", keys...)
}

// view reads the name of a view, which has to be there once everything is read.
func (r *reader) view(v policyfile.Value) string {
	name, ok := v.Text("the name of a view")
	if ok {
		r.named = append(r.named, viewName{name, v})
	}
	return name
}

func (r *reader) ask(v policyfile.Value) {
	a := &r.c.Ask
	v.Object("who answers, such as {elicit: true}",
		policyfile.Key{Name: "elicit", Read: func(v policyfile.Value) { a.Elicit, _ = v.Bool() }},
		policyfile.Key{Name: "remember", Read: func(v policyfile.Value) { a.Remember, r.remembers = v.Bool(); r.remember = v }},
		policyfile.Key{Name: "expires", Read: func(v policyfile.Value) { a.Expires = duration(v) }},
		policyfile.Key{Name: "views", Read: func(v policyfile.Value) {
			a.Views = []string{}
			v.List("views", func(v policyfile.Value) { a.Views = append(a.Views, r.view(v)) })
			if v.IsList() && v.Len() == 0 {
				v.Fail("there is no view (leave it out to ask the callers of all, or write elicit: false)")
			}
		}},
	)
}

func (r *reader) audit(v policyfile.Value) {
	v.Object("where the audit log goes, such as {file: audit.jsonl}",
		policyfile.Key{Name: "file", Required: true, Read: func(v policyfile.Value) {
			r.c.Audit.File, _ = v.Text("a path, or stderr")
			if r.c.Audit.File != stderrFile {
				r.c.Audit.File = r.under(r.c.Audit.File)
			}
		}},
		policyfile.Key{Name: "arguments", Read: func(v policyfile.Value) { r.c.Audit.Arguments, _ = v.Bool() }},
	)
}

func (r *reader) stdio(v policyfile.Value) {
	c := &r.c.Stdio
	v.Object("who calls over stdio, such as {principal: me}",
		policyfile.Key{Name: "principal", Read: func(v policyfile.Value) { c.Principal, _ = v.Text("who it is") }},
		policyfile.Key{Name: "view", Read: func(v policyfile.Value) { c.View = r.view(v) }},
		policyfile.Key{Name: "attributes", Read: func(v policyfile.Value) { c.Attributes, _ = v.JSON() }},
	)
}

func (r *reader) timeouts(v policyfile.Value) {
	t := &r.c.Timeouts
	v.Object("timeouts, such as {call: 1m}",
		policyfile.Key{Name: "connect", Read: func(v policyfile.Value) { t.Connect = duration(v) }},
		policyfile.Key{Name: "call", Read: func(v policyfile.Value) { t.Call = duration(v) }},
		policyfile.Key{Name: "session", Read: func(v policyfile.Value) { t.Session = duration(v) }},
		policyfile.Key{Name: "drain", Read: func(v policyfile.Value) { t.Drain = duration(v) }},
	)
}

// duration reads a duration, which is more than none.
func duration(v policyfile.Value) time.Duration {
	text, ok := v.Text("a duration, such as 30s or 5m")
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		v.Fail("%q is no duration (write one such as 30s or 5m)", text)
		return 0
	}
	return d
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
