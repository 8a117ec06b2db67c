package main

import (
	_ "embed"
	"strings"
)

// namesText holds the names of the tools of real servers, a server a line: its id, then its tools. A test makes it
// from testdata/catalogs and holds it to them.
//
//go:embed names.txt
var namesText string

// realServer is one line of names.txt.
type realServer struct {
	id    string
	tools []string
}

func realServers() []realServer {
	var list []realServer
	for line := range strings.Lines(namesText) {
		words := strings.Fields(line)
		list = append(list, realServer{words[0], words[1:]})
	}
	return list
}

// tokens splits a name into the words it is made of, in lower case: at '_', '-' and '.', and before capitals.
func tokens(name string) []string {
	var list []string
	start := 0
	cut := func(i int) {
		if i > start {
			list = append(list, strings.ToLower(name[start:i]))
		}
	}
	for i, r := range name {
		switch {
		case r == '_' || r == '-' || r == '.':
			cut(i)
			start = i + 1
		case 'A' <= r && r <= 'Z' && i > 0 && 'a' <= name[i-1] && name[i-1] <= 'z':
			cut(i)
			start = i
		}
	}
	cut(len(name))
	return list
}
