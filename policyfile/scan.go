package policyfile

import (
	"bytes"
)

// yamlScan is what a glance at a YAML document tells, without reading it.
type yamlScan struct {
	tooDeep   int   // the offset of the collection that is nested too deep, or -1
	directive int   // the offset of the first directive, or -1
	open      int   // the offset of the quote or bracket that is never closed, or -1
	marks     []int // the offsets of anchors, aliases and tags
}

// scanYAML looks over a YAML document once, with work in proportion to its size and no memory but for a bounded
// stack: the parser proper builds tokens, indents and nodes for whatever nesting it is given.
//
// It splits the text into tokens as the parser does (tokens, quotes, comments, indentation), but knows no grammar. It
// never takes a document that the parser reads for a deeper one than it is: a test holds it to that.
func scanYAML(text []byte) yamlScan {
	s := scanner{text: text, out: yamlScan{tooDeep: -1, directive: -1, open: -1}}
	for s.out.tooDeep < 0 && s.next() {
	}
	if s.out.open < 0 && len(s.brackets) > 0 && s.out.tooDeep < 0 {
		s.out.open = s.brackets[len(s.brackets)-1]
	}
	return s.out
}

type scanner struct {
	text []byte
	i    int // where it is
	line int // where the line of i begins
	out  yamlScan

	indents  []int // the columns of the open block collections
	brackets []int // the offsets of the open flow collections
	keyAt    int   // the column where the last scalar of this line began: a mapping's if ':' follows; else -1
	content  bool  // there was content, so that a '%' is no directive
}

func (s *scanner) peek(ahead int) byte {
	if s.i+ahead < len(s.text) {
		return s.text[s.i+ahead]
	}
	return 0
}

func isBreak(c byte) bool  { return c == '\n' || c == '\r' || c == 0 }
func isBlank(c byte) bool  { return c == ' ' || c == '\t' }
func isSpaceZ(c byte) bool { return isBreak(c) || isBlank(c) }
func isName(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
func isFlow(c byte) bool {
	return c == ',' || c == '?' || c == '[' || c == ']' || c == '{' || c == '}'
}

func (s *scanner) column() int { return s.i - s.line }

// newline steps over a line break.
func (s *scanner) newline() {
	if s.peek(0) == '\r' && s.peek(1) == '\n' {
		s.i++
	}
	s.i++
	s.line = s.i
}

// marker reports whether "---" or "..." stands here, at the beginning of a line.
func (s *scanner) marker() bool {
	rest := s.text[s.i:]
	return s.column() == 0 && (bytes.HasPrefix(rest, []byte("---")) || bytes.HasPrefix(rest, []byte("..."))) && isSpaceZ(s.peek(3))
}

// top is the column of the innermost block collection, -1 at the root.
func (s *scanner) top() int {
	if len(s.indents) == 0 {
		return -1
	}
	return s.indents[len(s.indents)-1]
}

// open opens a block collection at a column, unless one is open there.
func (s *scanner) open(col int) {
	if len(s.brackets) == 0 && s.top() < col {
		s.indents = append(s.indents, col)
		s.checkDepth()
	}
}

func (s *scanner) checkDepth() {
	if len(s.indents)+len(s.brackets) > maxDepth {
		s.out.tooDeep = s.i
	}
}

// next steps over one token and what stands before it. It reports whether there was one.
func (s *scanner) next() bool {
	if !s.blanks() {
		return false
	}
	if len(s.brackets) == 0 {
		for s.top() > s.column() {
			s.indents = s.indents[:len(s.indents)-1]
		}
	}
	c, start := s.peek(0), s.i
	after := isSpaceZ(s.peek(1))
	switch {
	case c == '%' && s.column() == 0:
		if s.out.directive < 0 && !s.content {
			s.out.directive = s.i
		}
		s.toBreak()
		return true
	case s.marker():
		s.indents, s.keyAt = s.indents[:0], -1
		s.content = true
		s.i += 3
		return true
	}
	s.content = true
	switch {
	case c == '[' || c == '{':
		s.noteKey(start)
		s.brackets = append(s.brackets, s.i)
		s.i++
		s.checkDepth()
	case c == ']' || c == '}':
		if len(s.brackets) > 0 {
			s.brackets = s.brackets[:len(s.brackets)-1]
		}
		s.i++
	case c == ',':
		s.i++
	case c == '-' && after, c == '?' && after:
		s.open(s.column())
		s.keyAt = -1
		s.i++
	case c == '?' && len(s.brackets) > 0:
		s.i++
	case c == ':' && (after || len(s.brackets) > 0):
		if s.keyAt >= 0 {
			s.open(s.keyAt)
		}
		s.i++
	case c == '*', c == '&':
		s.noteKey(start)
		s.out.marks = append(s.out.marks, s.i)
		for s.i++; isName(s.peek(0)); {
			s.i++
		}
	case c == '!':
		s.noteKey(start)
		s.out.marks = append(s.out.marks, s.i)
		for !isSpaceZ(s.peek(0)) && !(len(s.brackets) > 0 && isFlow(s.peek(0))) {
			s.i++
		}
	case (c == '|' || c == '>') && len(s.brackets) == 0:
		s.block()
	case c == '"' || c == '\'':
		s.noteKey(start)
		s.quoted(c)
	default:
		s.noteKey(start)
		s.plain()
	}
	return true
}

// noteKey notes that a scalar or flow collection begins at an offset of this line.
func (s *scanner) noteKey(start int) {
	if len(s.brackets) == 0 && s.keyAt < 0 {
		s.keyAt = start - s.line
	}
}

// blanks steps over white space, line breaks and comments. It reports whether there is a token behind.
func (s *scanner) blanks() bool {
	for s.i < len(s.text) {
		switch c := s.text[s.i]; {
		case isBlank(c):
			s.i++
		case c == '#':
			s.toBreak()
		case isBreak(c):
			s.newline()
			if len(s.brackets) == 0 {
				s.keyAt = -1
			}
		default:
			return true
		}
	}
	return false
}

func (s *scanner) toBreak() {
	if n := bytes.IndexAny(s.text[s.i:], "\r\n"); n >= 0 {
		s.i += n
		return
	}
	s.i = len(s.text)
}

// quoted steps over a scalar in quotes.
func (s *scanner) quoted(q byte) {
	start := s.i
	for s.i++; s.i < len(s.text); {
		switch c := s.text[s.i]; {
		case c == q && q == '\'' && s.peek(1) == q, c == '\\' && q == '"' && !isBreak(s.peek(1)):
			s.i += 2
		case c == q:
			s.i++
			return
		case isBreak(c):
			s.newline()
		default:
			s.i++
		}
	}
	s.i = len(s.text)
	s.out.open = start
}

// plain steps over a scalar without quotes, which may go on in the next lines.
func (s *scanner) plain() {
	for s.i < len(s.text) && !s.marker() && s.text[s.i] != '#' {
		from := s.i
		for c := s.peek(0); !isSpaceZ(c); c = s.peek(0) {
			if c == ':' && isSpaceZ(s.peek(1)) || len(s.brackets) > 0 && isFlow(c) {
				break
			}
			s.i++
		}
		if !isSpaceZ(s.peek(0)) {
			if s.i == from && s.i < len(s.text) && s.peek(0) != ':' && !isFlow(s.peek(0)) {
				s.i++
			}
			return
		}
		for s.i < len(s.text) && isSpaceZ(s.text[s.i]) {
			if isBreak(s.text[s.i]) {
				s.newline()
				s.keyAt = -1
			} else {
				s.i++
			}
		}
		if len(s.brackets) == 0 && s.column() <= s.top() {
			return
		}
	}
}

// block steps over a literal or folded scalar: its header, and the lines that are blank or indented deeper than what
// holds it.
func (s *scanner) block() {
	s.toBreak()
	for s.i < len(s.text) {
		back, line := s.i, s.line
		s.newline()
		for s.peek(0) == ' ' {
			s.i++
		}
		if s.i < len(s.text) && !isBreak(s.text[s.i]) && s.column() <= s.top() {
			s.i, s.line = back, line
			return
		}
		s.toBreak()
	}
}
