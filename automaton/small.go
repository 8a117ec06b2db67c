package automaton

// This file is the way of indexes that hold a handful of patterns. Up to about a dozen a loop over them is faster than any
// structure: most are told apart by one comparison of lengths or of a few bytes. Measured with 10 rules, a decision took
// 131 ns through the structures, and a plain loop 95 ns.

import (
	"strings"

	"github.com/penstock-mcp/penstock/fold"
)

// smallIndex is up to how many patterns First goes through them one by one. Tests of the structures set it to 0.
var smallIndex = 12

// smallPattern is one pattern of a small index, folded in mode Folded.
type smallPattern struct {
	anyServer bool
	kind      smallKind
	server    string // where it holds no star
	name      string // the text without the stars at its ends; unused for smallGlob
	globs     *[2]Glob
}

type smallKind uint8

const (
	smallAny smallKind = iota
	smallLiteral
	smallPrefix
	smallSuffix
	smallInfix
	smallGlob // whatever is none of these
)

// setSmall keeps the patterns for going through them, unless they are too many or one has a regexp.
func (x *Index) setSmall(patterns []Pattern) {
	if len(patterns) > smallIndex {
		return
	}
	small := make([]smallPattern, len(patterns))
	for i, p := range patterns {
		if p.Re != nil {
			return
		}
		server, name := p.Server, p.Name
		if x.mode == Folded {
			server, name = fold.String(server), fold.String(name)
		}
		small[i] = smallPatternOf(server, name)
	}
	x.small = small
}

func smallPatternOf(server, name string) smallPattern {
	s := smallPattern{anyServer: server == "*", server: server}
	inner := strings.Trim(name, "*")
	head, tail := strings.HasPrefix(name, "*"), strings.HasSuffix(name, "*")
	switch {
	case strings.Contains(inner, "*") || !s.anyServer && strings.Contains(server, "*"):
		s.kind, s.globs = smallGlob, &[2]Glob{CompileGlob(server), CompileGlob(name)}
		return s
	case head && tail && inner == "":
		s.kind = smallAny
	case head && tail:
		s.kind = smallInfix
	case head:
		s.kind = smallSuffix
	case tail:
		s.kind = smallPrefix
	default:
		s.kind = smallLiteral
	}
	s.name = inner
	return s
}

// firstSmall is FirstBelow for a small index.
func (x *Index) firstSmall(server, name string, limit int) int {
	if x.mode == Exact {
		return firstOf(x.small[:min(limit, len(x.small))], server, name)
	}
	var serverBuf, nameBuf [maxStackName]byte
	if !isFolded(server) {
		server = loose(serverBuf[:0], server)
	}
	if !isFolded(name) {
		name = loose(nameBuf[:0], name)
	}
	return firstOf(x.small[:min(limit, len(x.small))], server, name)
}

func firstOf(patterns []smallPattern, server, name string) int {
	for i := range patterns {
		p := &patterns[i]
		if p.kind == smallGlob {
			if p.globs[0].Match(server) && p.globs[1].Match(name) {
				return i
			}
			continue
		}
		if !p.anyServer && p.server != server {
			continue
		}
		switch p.kind {
		case smallAny:
			return i
		case smallLiteral:
			if p.name == name {
				return i
			}
		case smallPrefix:
			if strings.HasPrefix(name, p.name) {
				return i
			}
		case smallSuffix:
			if strings.HasSuffix(name, p.name) {
				return i
			}
		default:
			if strings.Contains(name, p.name) {
				return i
			}
		}
	}
	return -1
}
