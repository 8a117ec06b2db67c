package fuzz

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// Fold is the fold of section 2.
func Fold(s string) string {
	lower := cases.Lower(language.Und)
	var b strings.Builder
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		character := s[:n]
		s = s[n:]
		if r == utf8.RuneError && n == 1 {
			// "Bytes that are not valid UTF-8 stay as they are"
			b.WriteString(character)
			continue
		}
		// "full Unicode lower-case of every character on its own (no final-sigma rule, no language), then - and .
		// become _"
		folded := lower.String(character)
		folded = strings.ReplaceAll(folded, "-", "_")
		folded = strings.ReplaceAll(folded, ".", "_")
		b.WriteString(folded)
	}
	return b.String()
}

// Glob reports whether glob matches the whole of s: "* matches any run of characters, the empty run too", and
// nothing else is special (section 3). It fills the table of which beginnings of the glob match which beginnings
// of s.
func Glob(glob, s string) bool {
	matches := make([][]bool, len(glob)+1)
	for i := range matches {
		matches[i] = make([]bool, len(s)+1)
		for j := range matches[i] {
			switch {
			case i == 0:
				matches[i][j] = j == 0
			case glob[i-1] == '*':
				matches[i][j] = matches[i-1][j] || j > 0 && matches[i][j-1]
			default:
				matches[i][j] = j > 0 && glob[i-1] == s[j-1] && matches[i-1][j-1]
			}
		}
	}
	return matches[len(glob)][len(s)]
}

// segment reports whether a segment matches one half of a target: "exact matching compares bytes, loose matching
// folds the pattern and the target".
func segment(glob, s string, loose bool) bool {
	if loose {
		return Glob(Fold(glob), Fold(s))
	}
	return Glob(glob, s)
}

// split is a pattern cut into its segments.
type split struct {
	kind         Kind
	server, name string
	bare         bool // no server was written: any server
}

// splitPattern cuts a pattern: "the first / separates them".
func splitPattern(pattern string) split {
	p := split{kind: Tool}
	for _, kind := range []Kind{Resource, Prompt} {
		if strings.HasPrefix(pattern, string(kind)+":") {
			p.kind = kind
			pattern = strings.TrimPrefix(pattern, string(kind)+":")
			break
		}
	}
	i := strings.Index(pattern, "/")
	if i < 0 {
		p.server, p.name, p.bare = "*", pattern, true
		return p
	}
	p.server, p.name = pattern[:i], pattern[i+1:]
	return p
}

// matchPattern reports whether a pattern matches a target.
func matchPattern(pattern string, t Target, loose bool) bool {
	p := splitPattern(pattern)
	return p.kind == t.Kind && segment(p.server, t.Server, loose) && segment(p.name, t.Name, loose)
}

// matchRegexp reports whether a regexp rule matches a target: "a regexp is tried on the name and on its fold, and
// either one is a match".
func matchRegexp(r Rule, t Target, loose bool) bool {
	if r.Kind != t.Kind || !segment(r.Server, t.Server, loose) {
		return false
	}
	re := regexp.MustCompile(r.Text)
	return re.MatchString(t.Name) || loose && re.MatchString(Fold(t.Name))
}

// checkServerID reports why no server can have the id (section 1).
func checkServerID(id string) error {
	if id == "" || !utf8.ValidString(id) {
		return fmt.Errorf("server id %q: empty or not UTF-8", id)
	}
	for _, r := range id {
		if r == ':' || r == '/' || r == '*' || unicode.IsSpace(r) || unicode.IsControl(r) {
			return fmt.Errorf("server id %q holds %q", id, r)
		}
	}
	return nil
}

// checkPattern reports why a pattern is refused (sections 3 and 5.1).
func checkPattern(pattern string) error {
	if err := checkSize(pattern); err != nil {
		return err
	}
	p := splitPattern(pattern)
	if p.bare {
		if p.kind != Tool {
			return fmt.Errorf("a %s pattern needs a server", p.kind)
		}
	} else if err := checkServerGlob(p.server); err != nil {
		return err
	}
	// "a tool segment that begins with /"; a prompt's name is held to the same, a URI is not a tool segment.
	if p.kind != Resource && strings.HasPrefix(p.name, "/") {
		return fmt.Errorf("the %s segment begins with /", p.kind)
	}
	return checkSegment(p.name)
}

// checkSize reports a pattern "over 4 KiB or with more than 64 stars".
func checkSize(pattern string) error {
	if len(pattern) > 4096 {
		return fmt.Errorf("over 4 KiB")
	}
	if strings.Count(pattern, "*") > 64 {
		return fmt.Errorf("more than 64 stars")
	}
	return nil
}

// checkServerGlob reports "a server segment with : or … /" or "with any white space".
func checkServerGlob(glob string) error {
	if strings.ContainsAny(glob, ":/") {
		return fmt.Errorf("the server segment holds : or /")
	}
	if strings.ContainsFunc(glob, unicode.IsSpace) {
		return fmt.Errorf("the server segment holds white space")
	}
	return checkSegment(glob)
}

// checkSegment reports what is refused in every segment.
func checkSegment(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("an empty segment")
	case !utf8.ValidString(s):
		return fmt.Errorf("not UTF-8")
	case strings.TrimSpace(s) != s:
		return fmt.Errorf("white space at an end")
	case strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("a control character")
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Cf, r) }):
		return fmt.Errorf("an invisible character")
	}
	return nil
}
