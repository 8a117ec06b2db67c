// Who answers where the decision is to ask, and where the answer is kept.

package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/approval"
	"github.com/penstock-mcp/penstock/lockfile"
)

// approver returns the approver of a configuration, nil for none: then the engine denies.
func (g *Gateway) approver(c *Config) hub.Approver {
	if !c.Ask.Elicit {
		return nil
	}
	o := approval.Options{Expiry: c.Ask.Expires}
	if o.Expiry == 0 {
		o.Expiry = defaultExpires
	}
	if c.Ask.Remember {
		store := approval.NewStore(c.BaselinePath, g.remembered)
		o.Remember = func(ctx context.Context, r *hub.ApprovalRequest) error {
			err := store.Remember(ctx, r)
			if err != nil {
				g.log.Error("an approval could not be kept", "server", r.Target.Server, "tool", strconv.Quote(r.Target.Name),
					"baseline", c.BaselinePath, "error", err)
			} else {
				g.log.Info("a tool was approved for good", "server", r.Target.Server, "tool", strconv.Quote(r.Target.Name),
					"principal", strconv.Quote(r.Caller.Principal), "baseline", c.BaselinePath)
			}
			return err
		}
	}
	return &asked{approval.New(o), c.Ask.Views}
}

// asked asks the callers of some views.
type asked struct {
	*approval.Elicitor
	views []string // nil: all
}

// CanAsk reports whether a caller can be asked: the engine denies where it cannot.
func (a *asked) CanAsk(ctx context.Context, c hub.Caller, ss *mcp.ServerSession) bool {
	return (a.views == nil || slices.Contains(a.views, c.View)) && a.Elicitor.CanAsk(ctx, c, ss)
}

// Approve asks, and refuses for a caller that is not to be asked.
func (a *asked) Approve(ctx context.Context, r *hub.ApprovalRequest) (hub.Approval, error) {
	if a.views != nil && !slices.Contains(a.views, r.Caller.View) {
		return hub.Approval{}, nil
	}
	return a.Elicitor.Approve(ctx, r)
}

// approvedDefinition is GuardOptions.ApprovedDefinition.
func (g *Gateway) approvedDefinition(t engine.Target) json.RawMessage {
	f := g.state.Load().config.Baseline
	if f == nil {
		return nil
	}
	e, _ := f.Lookup(t)
	return e.Definition
}

// remembered takes the baseline that an approval has just been written to. It reads the file, since two approvals may
// call it in another order than they wrote; what cannot be read is told by the next reload, and until then what was
// written here counts.
func (g *Gateway) remembered(f *lockfile.File) {
	r := &g.reload
	r.mu.Lock()
	defer r.mu.Unlock()
	s := g.state.Load()
	path := s.config.BaselinePath
	var read files
	if data, err := read.load(path); err == nil {
		if now, err := lockfile.Decode(path, data); err == nil {
			f = now
		}
	}
	c := *s.config
	c.Baseline = f
	c.files = replaced(c.files, read.read[0])
	r.attempt = replaced(r.attempt, read.read[0])
	if err := g.engine.Apply(c.engine()); err != nil {
		g.log.Error("an approval was written but is not in force", "error", err)
		return
	}
	g.state.Store(&state{&c, s.gate})
	g.catalogs.touch(allLists)
}

// replaced returns files with one of them as it was read last.
func replaced(in []file, now file) []file {
	out := slices.Clone(in)
	for i := range out {
		if out[i].path == now.path {
			out[i] = now
		}
	}
	return out
}
