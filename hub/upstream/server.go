// How a server is reached.

package upstream

import (
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Server says how a server is reached: by a command that speaks MCP on its standard streams, or by a URL that speaks
// streamable HTTP. Exactly one of Command and URL is set. It is not changed once it was handed to a [Pool].
//
// Environment, headers and arguments hold secrets. [Server.String] and [Server.LogValue] show none of them.
type Server struct {
	Command string            // a name that is looked up in PATH, or a path
	Args    []string          // its arguments
	Env     map[string]string // what it gets on top of the few variables of the hub's own environment that every program needs
	Dir     string            // where it runs; "" is where the hub runs

	URL     string            // http or https
	Headers map[string]string // sent with every request to the origin of the URL, and to no other

	Disabled bool // it is known, and not connected to
}

// Equal reports whether both are reached the same way.
func (s Server) Equal(o Server) bool {
	return s.Command == o.Command && s.Dir == o.Dir && s.URL == o.URL && s.Disabled == o.Disabled &&
		slices.Equal(s.Args, o.Args) && maps.Equal(s.Env, o.Env) && maps.Equal(s.Headers, o.Headers)
}

// String says how the server is reached, without arguments, values of the environment and of headers, and without what
// may be secret in a URL: all but scheme and host.
func (s Server) String() string {
	var b strings.Builder
	switch {
	case s.URL != "":
		fmt.Fprintf(&b, "url %s", publicURL(s.URL))
		if len(s.Headers) > 0 {
			fmt.Fprintf(&b, " (headers %s)", strings.Join(slices.Sorted(maps.Keys(s.Headers)), ", "))
		}
	default:
		fmt.Fprintf(&b, "command %q (%d arguments", s.Command, len(s.Args))
		if len(s.Env) > 0 {
			fmt.Fprintf(&b, ", environment %s", strings.Join(slices.Sorted(maps.Keys(s.Env)), ", "))
		}
		b.WriteString(")")
	}
	if s.Disabled {
		b.WriteString(", disabled")
	}
	return b.String()
}

// GoString is String: %#v shows no secrets either.
func (s Server) GoString() string { return "upstream.Server{" + s.String() + "}" }

// LogValue is String.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.String()) }

// clone returns a copy that shares no memory.
func (s Server) clone() Server {
	s.Args, s.Env, s.Headers = slices.Clone(s.Args), maps.Clone(s.Env), maps.Clone(s.Headers)
	return s
}

// publicURL returns the scheme and the host of a URL: user, path and query may be secrets.
func publicURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "(not a URL)"
	}
	return u.Scheme + "://" + u.Host
}

// redact hides the secrets of a server in what it prints.
type redact struct{ r *strings.Replacer }

// leastSecret is the length from which on a value is taken for a secret: "1", "true" and "debug" stand everywhere.
const leastSecret = 8

func newRedact(s Server) redact {
	var pairs []string
	add := func(m map[string]string) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if len(m[k]) >= leastSecret {
				pairs = append(pairs, m[k], "[hidden]")
			}
			if _, token, ok := strings.Cut(m[k], " "); ok && len(token) >= leastSecret { // Bearer and the token
				pairs = append(pairs, token, "[hidden]")
			}
		}
	}
	add(s.Env)
	add(s.Headers)
	for i, arg := range s.Args {
		flag, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(s.Args) {
			value = s.Args[i+1]
		}
		if strings.HasPrefix(flag, "-") && secretive(flag) {
			add(map[string]string{"": value})
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			add(map[string]string{"": password})
		}
		for _, values := range u.Query() {
			for _, v := range values {
				add(map[string]string{"": v})
			}
		}
	}
	if len(pairs) == 0 {
		return redact{}
	}
	return redact{strings.NewReplacer(pairs...)}
}

// secretive reports whether a flag has a secret, by its name.
func secretive(flag string) bool {
	flag = strings.ToLower(flag)
	for _, word := range []string{"key", "token", "secret", "pass", "auth", "credential"} {
		if strings.Contains(flag, word) {
			return true
		}
	}
	return false
}

func (r redact) text(s string) string {
	if r.r == nil {
		return s
	}
	return r.r.Replace(s)
}

// error returns err with a text that hides the secrets; what it wraps is the same.
func (r redact) error(err error) error {
	if err == nil || r.r == nil {
		return err
	}
	text := r.text(err.Error())
	if text == err.Error() {
		return err
	}
	return &redacted{err, text}
}

type redacted struct {
	err  error
	text string
}

func (e *redacted) Error() string { return e.text }
func (e *redacted) Unwrap() error { return e.err }
