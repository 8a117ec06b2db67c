// The configuration of a gateway, as Go has it. How it is read from hub.yaml: see read.go.

package gateway

import (
	"crypto/sha256"
	"time"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/upstream"
	"github.com/penstock-mcp/penstock/lockfile"
)

// Config says what a [Gateway] does. [Load] reads one from a file; an embedder may fill one in. The zero Config has no
// servers, no views and no callers: nobody sees anything.
type Config struct {
	// Path is the file it was read from. "": it was made in Go, and nothing is reloaded.
	Path string

	Listen string // the address of streamable HTTP; "": stdio
	Admin  string // the address of /healthz with details and of /metrics; "": none

	Servers map[string]upstream.Server // by id
	Views   map[string]engine.View     // by name; [hub.DefaultView] is that of anonymous callers

	// Baseline holds what was approved; nil: nothing was, and every tool is new. BaselinePath is its file, "" for none.
	Baseline     *lockfile.File
	BaselinePath string

	OnlyApproved bool // see hub.GuardOptions
	Ask          Ask
	Audit        Audit

	Stdio   hub.Caller // who calls over stdio and in memory
	Callers []Caller   // who may come in over HTTP
	OAuth   *OAuth     // who else may; nil: nobody

	Refresh  time.Duration // see upstream.Options
	Timeouts Timeouts

	files    []file // what it was made of, as it was read
	policies []compiledPolicy
}

// compiledPolicy is what was made of one file.
type compiledPolicy struct {
	path string
	view engine.View
}

// Ask says who answers where a decision is to ask. The zero Ask: nobody does, and such a call is denied.
type Ask struct {
	Elicit   bool          // the person in front of the caller is asked, by elicitation
	Remember bool          // and may have the tool allowed from now on, which writes the baseline
	Expires  time.Duration // how long a question is open; zero: 5 minutes

	// Views are the views whose callers are asked. Nil: all. A caller answers through its own client, so one without a
	// person in front of it should be in none of them.
	Views []string
}

// Audit says where the audit log goes. The zero Audit: nowhere.
type Audit struct {
	File      string // a path, or "stderr"
	Arguments bool   // the arguments of calls, too; they hold secrets sooner or later
}

// Timeouts are how long something may take. Zero is the default.
type Timeouts struct {
	Connect time.Duration // of a server, its lists included: 30 s
	Call    time.Duration // of one call: none
	Session time.Duration // that nobody uses, over HTTP: 1 hour
	Drain   time.Duration // of running calls, when the gateway stops: 10 s
}

// Caller is who may come in with a static token.
type Caller struct {
	Principal  string
	View       string
	Attributes map[string]any
	Token      [sha256.Size]byte // the SHA-256 of the token
}

// OAuth says whose access tokens are taken: JWTs that Issuer signed for Resource.
type OAuth struct {
	Resource string   // the audience, and the name in the protected resource metadata (RFC 9728)
	Issuer   string   // with OpenID Connect discovery
	Scopes   []string // all of them are required

	// Views are tried in order, and the first whose scope a token has is the caller's view, else DefaultView. Where that is
	// "", the caller sees nothing.
	Views       []ScopeView
	DefaultView string

	PrincipalClaim string // "": sub
}

// ScopeView is the view of those who have a scope.
type ScopeView struct{ Scope, View string }

const (
	defaultExpires = 5 * time.Minute
	defaultSession = time.Hour
	defaultDrain   = 10 * time.Second
)

// authenticates reports whether callers over HTTP have to say who they are.
func (c *Config) authenticates() bool { return len(c.Callers) > 0 || c.OAuth != nil }
