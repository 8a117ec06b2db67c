package text

import (
	"slices"
	"strings"
)

// longestNear bounds the names that are compared, since comparing costs their product: the longest of 4,504 real names
// has 57 bytes.
const longestNear = 200

// Nearest returns up to n of words that got may have been meant to be, the nearest first: those that differ from it by
// no more than a third of its characters, letters compared without case and '-', '.' and '_' taken for the same.
func Nearest(got string, words []string, n int) []string {
	type near struct {
		word     string
		distance int
	}
	if len(got) > longestNear {
		return nil
	}
	g := loose(got)
	most := max(1, len(g)/3)
	var found []near
	for _, w := range words {
		if w == got || len(w) > longestNear {
			continue
		}
		if d := distance(g, loose(w), most); d <= most {
			found = append(found, near{w, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.distance - b.distance })
	var out []string
	for _, f := range found[:min(n, len(found))] {
		out = append(out, f.word)
	}
	return out
}

func loose(s string) []rune {
	return []rune(strings.Map(func(r rune) rune {
		if r == '-' || r == '.' {
			return '_'
		}
		return r
	}, strings.ToLower(s)))
}

// distance counts the characters to add, leave out, change or swap with a neighbour to make b of a. It is more than most
// where that is certain early.
func distance(a, b []rune, most int) int {
	if d := len(a) - len(b); d > most || -d > most {
		return most + 1
	}
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
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
		before, last = last, row
	}
	return last[len(b)]
}
