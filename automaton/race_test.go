//go:build race

package automaton

// raced says that the race detector is on. It makes sync.Pool drop things at random, so allocations say nothing.
const raced = true
