// Escaping: what stands in quotes cannot look like what stands outside of them.
//
// A name, an argument or a description is written by somebody who would like the person who reads it to say yes. The naive
// way, strings.ReplaceAll of newlines, leaves a hundred characters that move, hide or imitate others. So there is no
// list of bad characters here but one of good ones, and all else becomes \uXXXX, as in JSON:
//
//   - ASCII from space to tilde; without the backtick, which could end the block of code that the details stand in, and
//     < > &, which are active in HTML. A space behind a space is escaped, so that nothing is pushed out of sight.
//   - letters and digits of every script that runs from left to right, with two combining marks at most, and the three
//     marks of CJK sentences. No letters that are blank, none that look like punctuation, no marks that strike out.
//
// Scripts that run from right to left are escaped, which makes them hard to read: a run of them also reverses the digits
// and marks around it, and two arguments change places to the eye. What would prevent that are more invisible
// characters, which clients drop or leave in as they like.
//
// Names are identities: in them everything beyond ASCII is escaped, since "fs" and "fѕ" look the same.

package approval

import (
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxMarks is the number of combining marks on one letter: what Vietnamese and Thai need.
const maxMarks = 2

// writer appends escaped text. The zero writer is ready to use.
type writer struct {
	b     []byte
	ascii bool // names: nothing else is good

	space  bool // the last character was a space
	letter bool // it was a letter, or a mark on one
	marks  int  // of the letter
}

// quote appends s in quotes, as a JSON string but for bytes that are not UTF-8, which become \xNN.
func (w *writer) quote(s string) {
	w.begin()
	w.b = append(w.b, '"')
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			w.b = fmt.Appendf(w.b, `\x%02x`, s[0])
			w.begin()
		case r == '"', r == '\\':
			w.b = append(w.b, '\\', byte(r))
			w.begin()
		default:
			w.rune(r)
		}
		s = s[n:]
	}
	w.b = append(w.b, '"')
}

// json appends a JSON text, which means the same afterwards: in canonical JSON whatever is escaped stands in a string,
// because there is neither white space nor anything beyond ASCII elsewhere.
func (w *writer) json(text []byte) {
	w.begin()
	for len(text) > 0 {
		if n := escaped(text); n > 0 { // no mark goes onto its last letter
			w.b = append(w.b, text[:n]...)
			w.begin()
			text = text[n:]
			continue
		}
		r, n := utf8.DecodeRune(text)
		w.rune(r)
		text = text[n:]
	}
}

// escaped returns the length of the escape that a JSON text begins with.
func escaped(text []byte) int {
	switch {
	case len(text) < 2 || text[0] != '\\':
		return 0
	case text[1] == 'u':
		return min(6, len(text))
	default:
		return 2
	}
}

func (w *writer) begin() { w.space, w.letter, w.marks = false, false, 0 }

// rune appends one character, or the escape for it.
func (w *writer) rune(r rune) {
	switch {
	case r == ' ':
		if !w.space {
			w.b = append(w.b, ' ')
		} else {
			w.escape(r)
		}
		w.begin()
		w.space = true
	case r < utf8.RuneSelf:
		if plain(r) {
			w.b = append(w.b, byte(r))
		} else {
			w.escape(r)
		}
		w.begin()
		w.letter = 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	case !w.ascii && w.letter && w.marks < maxMarks && isMark(r):
		w.b = utf8.AppendRune(w.b, r)
		w.marks++
	case !w.ascii && isLetter(r):
		w.b = utf8.AppendRune(w.b, r)
		w.begin()
		w.letter = true
	default:
		w.escape(r)
		w.begin()
	}
}

func (w *writer) escape(r rune) {
	for _, unit := range utf16.AppendRune(nil, r) {
		w.b = fmt.Appendf(w.b, `\u%04x`, unit)
	}
}

// plain reports whether an ASCII character is good.
func plain(r rune) bool {
	return r >= ' ' && r < 0x7f && r != '`' && r != '<' && r != '>' && r != '&'
}

// hidden are letters and marks that do not show.
var hidden = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

// isLetter reports whether a character beyond ASCII is good.
func isLetter(r rune) bool {
	switch r {
	case 0x3001, 0x3002, 0xff0c: // the ideographic comma and full stop, and the wide comma
		return true
	case 0x30fc, 0x3005, 0x0e46: // the only modifier letters that words are full of, and nobody takes for punctuation
		return true
	case 0x01c0, 0x01c1, 0x01c2, 0x01c3, 0xa78f: // clicks and a dot
		return false
	}
	if r >= 0x1160 && r <= 0x11ff || r >= 0xd7b0 && r <= 0xd7ff {
		return false // halves of Hangul syllables, which take no room of their own
	}
	return unicode.In(r, unicode.L, unicode.Nd) && !unicode.Is(unicode.Lm, r) && !unicode.In(r, hidden...) && !rightToLeft(r)
}

// isMark reports whether a combining mark is good.
func isMark(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Mc) && !unicode.In(r, hidden...) && !rightToLeft(r) &&
		(r < 0x0334 || r > 0x0338) && // lines through letters
		r != 0x034f && (r < 0x20d0 || r > 0x20ff) // a joiner that does not show; marks for symbols
}

// rightToLeft reports whether r is in a block that Unicode keeps for scripts from right to left.
func rightToLeft(r rune) bool {
	return r >= 0x0590 && r <= 0x08ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff ||
		r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
}
