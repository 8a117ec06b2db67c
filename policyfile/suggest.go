package policyfile

import (
	"fmt"
	"strings"
)

// suggest returns ` (did you mean "x"?)` for the word that got was meant to be, or "" if none is near.
//
// Near is a word that differs only in case, separators and a "hint" at the end (readOnlyHint for read_only), or
// one within two edits, but never more than a third of the word.
func suggest(got string, words []string) string {
	const longest = 64 // no word of ours is near it
	if len(got) > longest {
		return ""
	}
	best, least := "", min(2, len(got)/3)
	for _, w := range words {
		if looseWord(w) == looseWord(got) {
			best = w
			break
		}
		if d := editDistance(got, w); d < least || d == least && best == "" && d > 0 {
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
	s = strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(s))
	return strings.TrimSuffix(s, "hint")
}

// editDistance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
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
	return last[len(b)]
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
