// Reading hub.yaml: who may come in.

package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/url"

	"github.com/penstock-mcp/penstock/policyfile"
)

// callers reads who may come in with a token of its own.
func (r *reader) callers(v policyfile.Value) {
	if v.IsList() && v.Len() == 0 {
		v.Fail("nobody may come in (leave it out where everybody on this machine may)")
		return
	}
	v.List("callers", func(v policyfile.Value) {
		var c Caller
		var token, at policyfile.Value
		ways, known := 0, false
		ok := v.Object("a caller",
			policyfile.Key{Name: "principal", Required: true, Read: func(v policyfile.Value) { c.Principal, _ = v.Text("who it is"); at = v }},
			policyfile.Key{Name: "view", Required: true, Read: func(v policyfile.Value) { c.View = r.view(v) }},
			policyfile.Key{Name: "attributes", Read: func(v policyfile.Value) { c.Attributes, _ = v.JSON() }},
			policyfile.Key{Name: "token_sha256", Read: func(v policyfile.Value) { token, ways = v, ways+1; c.Token, known = hashed(v) }},
			policyfile.Key{Name: "token_env", Read: func(v policyfile.Value) { token, ways = v, ways+1; c.Token, known = r.fromEnv(v) }},
			policyfile.Key{Name: "token", Read: func(v policyfile.Value) {
				ways++
				v.Fail("a token does not belong into this file (write its SHA-256 as token_sha256, which penstock hub token prints, or token_env)")
			}},
		)
		if !ok {
			return
		}
		if ways != 1 {
			v.Fail("a caller has one token (write either token_sha256 or token_env)")
			return
		}
		for _, other := range r.c.Callers {
			if other.Principal == c.Principal && other.View != c.View {
				at.Fail("%q is in the view %q already (a principal is in one view)", c.Principal, other.View)
			}
		}
		if known {
			if i, again := r.tokens[c.Token]; again {
				token.Fail("it is the token of callers[%d], too (give each its own)", i)
			}
			r.tokens[c.Token] = len(r.c.Callers)
		}
		r.c.Callers = append(r.c.Callers, c)
	})
}

// minToken is the least a token has: 16 characters of base64 are 96 bits, which nobody tries out over a network.
const minToken = 16

func hashed(v policyfile.Value) (sum [sha256.Size]byte, ok bool) {
	text, ok := v.Text("the SHA-256 of a token in hex")
	if !ok {
		return sum, false
	}
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(sum) {
		v.Fail("it is no SHA-256 in hex, which has %d digits (penstock hub token prints one)", 2*len(sum))
		return sum, false
	}
	copy(sum[:], b)
	if sum == sha256.Sum256(nil) {
		v.Fail("it is the SHA-256 of nothing")
		return sum, false
	}
	return sum, true
}

func (r *reader) fromEnv(v policyfile.Value) (sum [sha256.Size]byte, ok bool) {
	name, ok := v.Text("the name of an environment variable")
	if !ok {
		return sum, false
	}
	token, _ := r.getenv(name)
	switch {
	case token == "":
		v.Fail("the environment variable %s is not set, or empty (it holds the token)", name)
	case len(token) < minToken:
		v.Fail("the token in %s has %d characters (take at least %d: penstock hub token makes one)", name, len(token), minToken)
	default:
		return sha256.Sum256([]byte(token)), true
	}
	return sum, false
}

func (r *reader) oauth(v policyfile.Value) {
	o := &OAuth{}
	ok := v.Object("whose access tokens are taken",
		policyfile.Key{Name: "resource", Required: true, Read: func(v policyfile.Value) { o.Resource = secureURL(v) }},
		policyfile.Key{Name: "issuer", Required: true, Read: func(v policyfile.Value) { o.Issuer = secureURL(v) }},
		policyfile.Key{Name: "scopes", Required: true, Read: func(v policyfile.Value) {
			v.List("scopes", func(v policyfile.Value) {
				s, _ := v.Text("a scope")
				o.Scopes = append(o.Scopes, s)
			})
			if v.IsList() && v.Len() == 0 {
				v.Fail("there is no scope (a token for something else would do)")
			}
		}},
		policyfile.Key{Name: "views", Read: func(v policyfile.Value) {
			v.List("scopes and their views", func(v policyfile.Value) {
				var s ScopeView
				v.Object("a scope and its view",
					policyfile.Key{Name: "scope", Required: true, Read: func(v policyfile.Value) { s.Scope, _ = v.Text("a scope") }},
					policyfile.Key{Name: "view", Required: true, Read: func(v policyfile.Value) { s.View = r.view(v) }},
				)
				o.Views = append(o.Views, s)
			})
		}},
		policyfile.Key{Name: "default_view", Read: func(v policyfile.Value) { o.DefaultView = r.view(v) }},
		policyfile.Key{Name: "principal_claim", Read: func(v policyfile.Value) { o.PrincipalClaim, _ = v.Text("the name of a claim") }},
	)
	if !ok {
		return
	}
	if len(o.Views) == 0 && o.DefaultView == "" {
		v.Fail("whoever comes in sees nothing (write views, or default_view)")
	}
	r.c.OAuth = o
}

// secureURL reads a URL that others may be told: over https, or on this machine.
func secureURL(v policyfile.Value) string {
	text, ok := v.Text("a URL")
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	local := err == nil && u.Scheme == "http" && loopback(net.JoinHostPort(u.Hostname(), "0"))
	if err != nil || u.Host == "" || u.Fragment != "" || u.RawQuery != "" || u.User != nil || u.Scheme != "https" && !local {
		v.Fail("%q will not do (write https://host/path)", text)
		return ""
	}
	return text
}
