package lint

// This file says which names look alike.
//
// Two names look alike if their skeletons are equal: NFKC (golang.org/x/text), which takes care of full-width and
// mathematical letters, ligatures and the like, then the table below, then 1, I, | and l as one and 0 and O as one, and
// without characters that nobody sees.
//
// Source: the table was written by hand after the mappings of single characters in confusables.txt of UTS #39 (Unicode
// Security Mechanisms), Unicode 15.1; it is not generated from that file.
// Limits: it holds only characters of the Cyrillic, Greek, Armenian and Cherokee scripts, some Latin ones beyond ASCII
// and punctuation, and only where one of them looks like one ASCII character. What only looks alike as a pair (rn and m,
// vv and w), in some fonts, or among other scripts is not found. UTS #39 has more than 6,000 mappings; this has 140.

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// lookalikes has, for each ASCII character, what looks like it.
var lookalikes = []struct {
	plain rune
	like  string
}{
	{'A', "АΑᎪ"}, {'B', "ВΒᏴ"}, {'C', "СϹᏟ"}, {'D', "Ꭰ"}, {'E', "ЕΕᎬ"}, {'F', "Ϝ"}, {'G', "ԌᏀ"}, {'H', "НΗᎻ"},
	{'I', "ІӀΙƖ"}, {'J', "ЈͿᎫ"}, {'K', "КΚᏦ"}, {'L', "Ꮮ"}, {'M', "МΜᎷϺ"}, {'N', "Ν"}, {'O', "ОΟՕ"}, {'P', "РΡᏢ"},
	{'Q', "Ԛ"}, {'R', "Ꭱ"}, {'S', "ЅՏᏚ"}, {'T', "ТΤᎢ"}, {'U', "Ս"}, {'V', "ѴᏙ"}, {'W', "ԜᎳ"}, {'X', "ХΧ"},
	{'Y', "ҮΥУ"}, {'Z', "ΖᏃ"},
	{'a', "аαɑ"}, {'b', "ЬƄ"}, {'c', "сϲᴄ"}, {'d', "ԁ"}, {'e', "еҽ"}, {'f', "ſẝ"}, {'g', "ɡցƍ"}, {'h', "һհ"},
	{'i', "іιıɩ"}, {'j', "јϳ"}, {'l', "ӏǀ"}, {'n', "ոռ"}, {'o', "оοσօᴏ"}, {'p', "рρ"}, {'q', "ԛգզ"}, {'r', "гᴦ"},
	{'s', "ѕƽꜱ"}, {'u', "υսᴜ"}, {'v', "ѵνᴠ"}, {'w', "ԝաѡᴡ"}, {'x', "х×"}, {'y', "уүγʏ"}, {'z', "ᴢ"},
	{'2', "Ƨ"}, {'3', "ЗӠƷȜ"}, {'4', "Ꮞ"}, {'6', "б"}, {'8', "Ȣȣ"},
	{'-', "‐‑‒–−⁃"}, {'_', "‗"}, {'.', "·"}, {'/', "⁄∕"},
}

var plainOf = func() map[rune]rune {
	m := make(map[rune]rune)
	for _, l := range lookalikes {
		for _, c := range l.like {
			m[c] = l.plain
		}
	}
	return m
}()

// plain returns s with everything that looks like ASCII as ASCII.
func plain(s string) string {
	if ascii(s) {
		return s
	}
	// Before NFKC, since it turns some look-alikes into accents beside a space.
	s = strings.Map(toPlain, s)
	return strings.Map(toPlain, norm.NFKC.String(s))
}

func toPlain(c rune) rune {
	if p, ok := plainOf[c]; ok {
		return p
	}
	return c
}

// skeleton returns what two names that look alike have in common. It is for comparing only.
func skeleton(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == 'I' || c == '1' || c == '|':
			return 'l'
		case c == '0':
			return 'O'
		case unseen(c):
			return -1
		}
		return c
	}, plain(s))
}

// disguised reports whether s has characters beyond ASCII and looks like ASCII all the same, and what it looks like.
func disguised(s string) (string, bool) {
	if ascii(s) || !utf8.ValidString(s) {
		return "", false
	}
	p := plain(s)
	return p, ascii(p)
}

// strangers names the characters of s beyond ASCII: U+0430 (Cyrillic).
func strangers(s string) string {
	var all []string
	for _, c := range s {
		if c < utf8.RuneSelf {
			continue
		}
		text := fmt.Sprintf("%U", c)
		for _, script := range [...]string{"Cyrillic", "Greek", "Armenian", "Cherokee"} {
			if unicode.Is(unicode.Scripts[script], c) {
				text += " (" + script + ")"
			}
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if len(all) > 4 {
		all = append(all[:4], "others")
	}
	return join(all, "and")
}

// unseen reports whether nobody sees c: a control or format character, a space of another width, a filler or a variation
// selector.
func unseen(c rune) bool {
	switch {
	case c < utf8.RuneSelf:
		return c < ' ' || c == 0x7f
	case unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Variation_Selector):
		return true
	}
	switch c {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return false
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
