// Package fold gives the loose form of a string: the form in which deny, ask and exclude rules compare
// names, so that Delete-Repo, delete.repo and delete_repo are one name to a rule that forbids it.
//
// # The definition
//
// The fold of a string is the full Unicode lower-case of every character on its own (no final-sigma rule,
// no language), after which '-' and '.' become '_'. Bytes that are not valid UTF-8 stay as they are.
//
//	Delete-Repo    delete_repo
//	İX             i̇x      (U+0130 is the one character whose full lower-case is two)
//	ΟΔΟΣ           οδοσ    (never ς: the fold of a character does not depend on its neighbours)
//	Straße         straße  (lower-casing is not case folding: ß, ſ and ς stay)
//	K (U+212A)     k
//	a\xff          a\xff   (two different bad names never become equal)
//
// # Why it can be used piece by piece
//
// Two laws hold, and everything that lowers patterns leans on them:
//
//	fold(fold(s)) == fold(s)
//	fold(a + b)   == fold(a) + fold(b)    where a and b are valid UTF-8
//
// The second also holds where only the piece of a pattern is valid and the bytes around it are not, since a
// valid piece starts and ends on a character boundary. A glob can therefore be folded piece by piece
// around its stars, and whatever it matched before it still matches after: loose is never narrower than
// exact.
//
// The letters are those of the Unicode tables of the Go release that built the program; see [Unicode].
package fold

import (
	"unicode"
	"unicode/utf8"
)

// Unicode is the version of the Unicode tables the fold is made from.
const Unicode = unicode.Version

// String returns the fold of s.
//
// Cost: one pass over s. It returns s itself, and allocates nothing, when s is its own fold.
func String(s string) string {
	i := mark(s)
	if i == len(s) {
		return s
	}
	dst := make([]byte, 0, len(s)+utf8.UTFMax)
	return string(Append(append(dst, s[:i]...), s[i:]))
}

// Append appends the fold of s to dst and returns the extended slice.
//
// Cost: one pass over s. It allocates only when dst has to grow; a character never folds to more than
// 3/2 of its bytes (U+023A and U+023E go from two to three, as does U+0130), so cap(dst)-len(dst) >= len(s)*3/2 is
// always enough, and len(s) is enough for ASCII.
func Append(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			dst = append(dst, ascii[c])
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(dst, c)
		case r == 'İ':
			dst = append(dst, "i\u0307"...)
		default:
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
		}
		i += n
	}
	return dst
}

// Rune returns the fold of one character: one or two characters. Surrogate halves and values beyond
// U+10FFFF are no characters; they fold to U+FFFD.
func Rune(r rune) string {
	return string(Append(nil, string(r)))
}

// Is reports whether s is its own fold.
//
// Cost: one pass over s; it allocates nothing.
func Is(s string) bool { return mark(s) == len(s) }

// Equal reports whether a and b have the same fold.
//
// Cost: one pass over both; it allocates nothing for names of up to 128 bytes.
func Equal(a, b string) bool {
	if a == b {
		return true
	}
	var x, y [192]byte
	return string(Append(x[:0], a)) == string(Append(y[:0], b))
}

// mark returns the length of the longest prefix of s that ends on a character boundary and is its own fold.
func mark(s string) int {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if ascii[c] != c {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !(r == utf8.RuneError && n == 1) && unicode.ToLower(r) != r {
			return i
		}
		i += n
	}
	return len(s)
}

// ascii is the fold of every ASCII byte.
var ascii = func() (t [utf8.RuneSelf]byte) {
	for i := range t {
		c := byte(i)
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c == '-' || c == '.':
			c = '_'
		}
		t[i] = c
	}
	return t
}()
