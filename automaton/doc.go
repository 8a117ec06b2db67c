// Package automaton finds which of many patterns match a tool.
package automaton
