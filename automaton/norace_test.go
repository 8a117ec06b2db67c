//go:build !race

package automaton

const raced = false
