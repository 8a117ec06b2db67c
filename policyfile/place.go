package policyfile

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// lines finds lines and columns in a text. Lines end with LF, CR LF or a lone CR, as YAML has it and editors
// count them.
//
// Characters are best asked for in the order in which they stand: then finding all of them costs one pass over
// the text, however long its lines are.
type lines struct {
	text   []byte
	starts []int // the offset of each line; starts[0] is 0

	// The last character asked for, from which the next one is sought.
	line  int // an index of starts
	off   int // an offset in that line
	runes int // how many characters stand in the line before off
}

func newLines(text []byte) *lines {
	l := &lines{text: text, starts: make([]int, 1, 1+bytes.Count(text, []byte("\n")))}
	for i := 0; i < len(text); {
		n := bytes.IndexAny(text[i:], "\r\n")
		if n < 0 {
			break
		}
		i += n + 1
		if text[i-1] == '\r' && i < len(text) && text[i] == '\n' {
			i++
		}
		l.starts = append(l.starts, i)
	}
	return l
}

// offset returns the offset of the given character of the given line, both counted from 1.
func (l *lines) offset(line, char int) int {
	line = min(max(line, 1), len(l.starts)) - 1
	if line != l.line || char-1 < l.runes {
		l.line, l.off, l.runes = line, l.starts[line], 0
	}
	for ; l.runes < char-1 && l.off < len(l.text); l.runes++ {
		_, n := utf8.DecodeRune(l.text[l.off:])
		l.off += n
	}
	return l.off
}

// at returns the line and the column in bytes of an offset, both counted from 1.
func (l *lines) at(off int) (line, col int32) {
	i, found := slices.BinarySearch(l.starts, off)
	if !found {
		i--
	}
	return int32(i + 1), int32(off - l.starts[i] + 1)
}
