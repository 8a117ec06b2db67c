package engine

import (
	"sync"

	"github.com/puzpuzpuz/xsync/v3"
)

// Policies holds named policies that can be replaced while they are used. The zero Policies is empty and ready for
// use; it must not be copied after first use.
//
// Its methods are safe for concurrent use. A decision goes by the policy that Get returned, whole, whatever
// happens to the name meanwhile.
type Policies struct {
	once   sync.Once
	byName *xsync.MapOf[string, *Policy]
}

func (p *Policies) names() *xsync.MapOf[string, *Policy] {
	p.once.Do(func() { p.byName = xsync.NewMapOf[string, *Policy]() })
	return p.byName
}

// Update compiles a policy and stores it under name, replacing the one that was there. On an error, which is that of
// [CompilePolicy], the stored policy is unchanged.
func (p *Policies) Update(name string, o PolicyOptions) error {
	compiled, err := CompilePolicy(o)
	if err != nil {
		return err
	}
	p.Set(name, compiled)
	return nil
}

// Set stores a compiled policy under name, replacing the one that was there. A nil policy denies everything.
func (p *Policies) Set(name string, compiled *Policy) { p.names().Store(name, compiled) }

// Get returns the policy stored under name, or nil, which denies everything. It takes no lock. A nil *Policies is
// empty.
func (p *Policies) Get(name string) *Policy {
	if p == nil {
		return nil
	}
	compiled, _ := p.names().Load(name)
	return compiled
}

// Delete removes the policy stored under name, if any.
func (p *Policies) Delete(name string) { p.names().Delete(name) }
