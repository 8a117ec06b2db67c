// Exposed URIs.
//
// Two servers may have a resource of the same URI, and a caller reads by URI alone. So a URI is exposed with its server
// in front:
//
//	penstock:<server>:<the server's own URI, or template, byte for byte>
//
// The server's id is percent-encoded but for unreserved characters, so the second ":" ends it. The mapping depends on the
// target alone, as with names: what a caller does not see cannot show in the URI of what it sees.

package gateway

import (
	"strings"

	"github.com/penstock-mcp/penstock/engine"
)

const uriScheme = "penstock:"

// ExposeURI returns the URI, or the text of a template, that a server's own is exposed under.
func ExposeURI(t engine.Target) string {
	var b strings.Builder
	b.Grow(len(uriScheme) + len(t.Server) + 1 + len(t.Name))
	b.WriteString(uriScheme)
	for i := range len(t.Server) {
		if c := t.Server[i]; unreserved(c) {
			b.WriteByte(c)
		} else {
			const hex = "0123456789ABCDEF"
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	b.WriteByte(':')
	b.WriteString(t.Name)
	return b.String()
}

// OriginalURI is the inverse of [ExposeURI]. Only what ExposeURI returns has an original: no other spelling of it.
func OriginalURI(exposed string) (engine.Target, bool) {
	rest, ok := strings.CutPrefix(exposed, uriScheme)
	if !ok {
		return engine.Target{}, false
	}
	encoded, uri, ok := strings.Cut(rest, ":")
	if !ok || uri == "" {
		return engine.Target{}, false
	}
	var id []byte
	for i := 0; i < len(encoded); i++ {
		c := encoded[i]
		if c == '%' {
			if i+2 >= len(encoded) {
				return engine.Target{}, false
			}
			c = digit(encoded[i+1])<<4 | digit(encoded[i+2])
			i += 2
		}
		id = append(id, c)
	}
	t := engine.Target{Server: string(id), Name: uri}
	if engine.CheckServerID(t.Server) != nil || ExposeURI(t) != exposed {
		return engine.Target{}, false
	}
	return t, true
}

// digit is the value of a hexadecimal digit, and anything for what is none: that is spelled another way.
func digit(c byte) byte {
	if c >= 'A' {
		return c - 'A' + 10
	}
	return c - '0'
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
