package lint

import (
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestLookalikesAreToldFromOtherLetters(t *testing.T) {
	for s, want := range map[string]string{
		"рауpal": "paypal", "ｓｅａｒｃｈ": "search", "𝖽elete": "delete", "ﬁle": "file", "get‐me": "get-me", "ѕеnԁ": "send", "οmega": "omega",
	} {
		if got, ok := disguised(s); !ok || got != want {
			t.Errorf("%q looks like %q, %t; want %q", s, got, ok, want)
		}
	}
	for _, s := range []string{"paypal", "", "café", "поиск", "検索", "größe", "λ", "a\xff"} {
		if got, ok := disguised(s); ok {
			t.Errorf("%q does not look like %q", s, got)
		}
	}
	for _, pair := range [][2]string{{"vl", "vI"}, {"v1", "vl"}, {"O2", "02"}, {"sе", "se"}, {"s\u200be", "se"}} {
		if skeleton(pair[0]) != skeleton(pair[1]) {
			t.Errorf("%q and %q look alike", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{{"a", "b"}, {"get_me", "get-me"}, {"Get", "get"}, {"é", "e"}} {
		if skeleton(pair[0]) == skeleton(pair[1]) {
			t.Errorf("%q and %q do not look alike", pair[0], pair[1])
		}
	}
}

// The table says each character once, and none that ASCII or NFKC has already.
func TestTableOfLookalikesIsClean(t *testing.T) {
	seen := make(map[rune]rune)
	for _, l := range lookalikes {
		if l.plain >= utf8.RuneSelf {
			t.Errorf("%q is not ASCII", l.plain)
		}
		for _, c := range l.like {
			if p, ok := seen[c]; ok {
				t.Errorf("%q (%U) looks like %q and %q", c, c, p, l.plain)
			}
			seen[c] = l.plain
			if c < utf8.RuneSelf {
				t.Errorf("%q is ASCII", c)
			}
			if n := norm.NFKC.String(string(c)); ascii(n) && n == string(l.plain) {
				t.Errorf("%q (%U): NFKC says so already", c, c)
			}
		}
	}
	if len(seen) != 140 {
		t.Errorf("%d characters, and lookalike.go says 140", len(seen))
	}
}
