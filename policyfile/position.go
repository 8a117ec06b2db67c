package policyfile

import "github.com/penstock-mcp/penstock/engine"

// Position returns where the value under a path of keys stands, such as "policy", "scope", and whether the document has
// it. Without keys it is the whole document. Rules know their own positions: see [engine.Rule.Position].
func (d *Document) Position(keys ...string) (engine.Position, bool) {
	n := d.root
	if n == nil {
		return engine.Position{File: d.file}, false
	}
	for _, key := range keys {
		if n = n.find(key); n == nil {
			return engine.Position{File: d.file}, false
		}
	}
	return n.place(d.file), true
}

// TrustedPosition returns where the i-th id of Policy.Trusted stands, and whether the document has it.
func (d *Document) TrustedPosition(i int) (engine.Position, bool) {
	if i < 0 || i >= len(d.trustedAt) {
		return engine.Position{File: d.file}, false
	}
	return d.trustedAt[i].place(d.file), true
}
