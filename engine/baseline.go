package engine

import (
	"cmp"
	"maps"
	"slices"
)

// Baseline maps each approved tool to the fingerprint it was approved with. Keys compare exactly. An entry
// whose fingerprint is empty is there, and differs from every tool.
//
// It is immutable and safe for concurrent use. A nil *Baseline is empty: every tool is new.
type Baseline struct {
	approved map[Target]Fingerprint
}

// NewBaseline returns a baseline with a copy of approved.
func NewBaseline(approved map[Target]Fingerprint) *Baseline {
	return &Baseline{approved: maps.Clone(approved)}
}

// Lookup returns the fingerprint t was approved with, and whether it was approved at all.
func (b *Baseline) Lookup(t Target) (Fingerprint, bool) {
	if b == nil {
		return "", false
	}
	f, ok := b.approved[t]
	return f, ok
}

// Len returns the number of approved tools.
func (b *Baseline) Len() int {
	if b == nil {
		return 0
	}
	return len(b.approved)
}

// Targets returns every approved target, sorted bytewise by server and then name.
func (b *Baseline) Targets() []Target {
	if b == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(b.approved), func(x, y Target) int {
		return cmp.Or(cmp.Compare(x.Server, y.Server), cmp.Compare(x.Name, y.Name))
	})
}
