// Package upstream keeps the connections of a hub to the servers behind it: it reads how they are reached, connects,
// lists what they offer, notices when that changes, and passes calls on.
//
// A server is on its own: one that is dead, slow, or lies never blocks another one. What a dead server offered is gone at
// once, and comes back when the server does.
package upstream

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// ErrDown says that a server is not connected.
var ErrDown = errors.New("the server is not connected")

// ErrChanged says that a tool is no longer the one that was judged.
var ErrChanged = errors.New("the tool has changed since it was judged")

// Tool is one tool as a server listed it.
type Tool struct {
	engine.Tool // with Raw as it came and its Fingerprint, "" where it has none

	// Definition is what callers may be shown: the server's own words, with an input schema that clients accept. It is
	// nil for a tool that cannot be shown; a Problem says why.
	Definition *mcp.Tool
}

// Catalog is what one server offers at one moment. It is immutable.
type Catalog struct {
	Server    string
	Up        bool   // false: it offers nothing, for it is not connected
	Tools     []Tool // in the server's order
	Prompts   []*mcp.Prompt
	Resources []*mcp.Resource
	Templates []*mcp.ResourceTemplate

	Subscribe   bool // it can be subscribed to
	Completions bool // it completes arguments
	Problems    []Problem
}

// Problem is something a server got wrong and the rest of its list survived.
type Problem struct {
	Server string
	Item   string // a tool's name or a URI, quoted where it does not print; "" for the list as a whole
	Err    error
}

// State is where a server's connection is.
type State string

// The states.
const (
	Connecting State = "connecting"
	Up         State = "up"
	Down       State = "down" // it failed, and is tried again
	Stopped    State = "stopped"
)

// Status is how one server is doing.
type Status struct {
	Server    string
	State     State
	Err       error // why it is down
	Since     time.Time
	Attempts  int // failed ones in a row
	Tools     int
	Prompts   int
	Resources int
	Problems  []Problem
}

// Options are the options of a [Pool]. The zero value is the documented default.
type Options struct {
	Logger  *slog.Logger        // nil: nothing is logged
	Client  *mcp.Implementation // what servers are told; nil: penstock
	Refresh time.Duration       // how often lists are read without being told of a change; zero: 5 minutes, negative: never

	// OnCatalog is called with a server's catalog whenever it is another one, one call at a time for a server, in order.
	OnCatalog func(Catalog)

	// OnResourceUpdated is called when a server says that a resource changed.
	OnResourceUpdated func(server, uri string)

	ConnectTimeout time.Duration // of connecting, and of reading all lists; zero: 30 seconds
	CallTimeout    time.Duration // of one call; zero: none
	MinBackoff     time.Duration // zero: 500 ms
	MaxBackoff     time.Duration // zero: 1 minute
}

// Progress is told how far a call is.
type Progress func(ctx context.Context, p *mcp.ProgressNotificationParams)
