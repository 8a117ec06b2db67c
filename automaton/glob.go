package automaton

// This file is the plain form of a segment glob: one pattern against one string.
//
// The hard case is a*a*a*a*b against aaaa…a. A matcher that backtracks tries every way to spread the
// stars; here every middle piece is taken at its leftmost place and never moved again, which is enough,
// because a piece placed further left leaves more room to all that follow.

import "strings"

// Match reports whether the segment glob matches the whole of s. '*' stands for any run of bytes, the
// empty run too; every other byte stands for itself.
//
// Cost: one pass over glob and s, however many stars there are; it allocates nothing.
func Match(glob, s string) bool {
	i := strings.IndexByte(glob, '*')
	if i < 0 {
		return glob == s
	}
	if !strings.HasPrefix(s, glob[:i]) {
		return false
	}
	s, glob = s[i:], glob[i+1:]
	j := strings.LastIndexByte(glob, '*')
	if !strings.HasSuffix(s, glob[j+1:]) {
		return false
	}
	if j < 0 {
		return true
	}
	s, glob = s[:len(s)-(len(glob)-j-1)], glob[:j]
	for len(glob) > 0 {
		var piece string
		piece, glob, _ = strings.Cut(glob, "*")
		k := strings.Index(s, piece)
		if k < 0 {
			return false
		}
		s = s[k+len(piece):]
	}
	return true
}

// Glob is a segment glob cut at its stars, for a caller that tries one glob on many strings. To try many
// globs on one string use [Index]. The zero Glob matches the empty string only.
//
// A Glob is immutable and safe for concurrent use.
type Glob struct {
	head string   // before the first star; the whole glob if there is none
	tail string   // behind the last star; empty if there is none
	mid  []string // the non-empty pieces between the first and the last star, in order
	star bool     // whether there is a star
}

// CompileGlob returns the compiled form of the glob. Every string is a glob.
func CompileGlob(glob string) Glob {
	i := strings.IndexByte(glob, '*')
	if i < 0 {
		return Glob{head: glob}
	}
	j := strings.LastIndexByte(glob, '*')
	g := Glob{head: glob[:i], tail: glob[j+1:], star: true}
	if i < j {
		for piece := range strings.SplitSeq(glob[i+1:j], "*") {
			if piece != "" {
				g.mid = append(g.mid, piece)
			}
		}
	}
	return g
}

// Match reports what [Match] reports for the glob that g was compiled from.
//
// Cost: one pass over s; it allocates nothing.
func (g Glob) Match(s string) bool {
	if !g.star {
		return g.head == s
	}
	if len(s) < len(g.head)+len(g.tail) || s[:len(g.head)] != g.head || s[len(s)-len(g.tail):] != g.tail {
		return false
	}
	s = s[len(g.head) : len(s)-len(g.tail)]
	for _, piece := range g.mid {
		k := strings.Index(s, piece)
		if k < 0 {
			return false
		}
		s = s[k+len(piece):]
	}
	return true
}
