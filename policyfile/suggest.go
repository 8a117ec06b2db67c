package policyfile

import (
	"fmt"
	"strings"
)

// longestWord bounds the words that are compared: ours have up to 15 bytes.
const longestWord = 40

// suggest returns ` (did you mean "x"?)` for the word that got was meant to be, or "" if none is near.
//
// Near is a word that differs only in case, separators and a "hint" at the end (readOnlyHint for read_only), or
// one within two edits, but never more than a third of the word.
func suggest(got string, words []string) string {
	if len(got) > longestWord {
		return ""
	}
	loose := looseWord(got)
	best, least := "", min(2, len(got)/3)+1
	for _, w := range words {
		if looseWord(w) == loose {
			best = w
			break
		}
		if d := editDistance(got, w, least); d < least {
			best, least = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// looseWord removes what people vary in a key.
func looseWord(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-' || r == '.':
			return -1
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return r
		}
	}, s)
	return strings.TrimSuffix(s, "hint")
}

// editDistance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b. It gives up
// at bound, and returns that.
func editDistance(a, b string, bound int) int {
	if len(b) > longestWord || len(a)-len(b) >= bound || len(b)-len(a) >= bound {
		return bound
	}
	var rows [3][longestWord + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], bound)
}

// list returns words quoted and joined: "a", "b" or "c".
func list(words []string, last string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " " + last + " " + quoted[len(quoted)-1]
}
