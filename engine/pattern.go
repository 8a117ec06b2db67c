package engine

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a pattern. A tool's name should have 128 characters at the most and the longest of 4,504 real ones
// has 57, so 4 KiB is far beyond use; 64 stars keep the pieces to look for in one name few.
const (
	maxPattern = 4 << 10
	maxStars   = 64
)

// pattern is a parsed pattern: a kind and two segment globs. A bare tool name has the server segment "*" and is
// marked as bare, since it is never exact.
type pattern struct {
	kind         Kind
	server, name string
	bare         bool
}

// exact reports whether the pattern names one target: two segments without a star.
func (p pattern) exact() bool {
	return !p.bare && !strings.Contains(p.server, "*") && !strings.Contains(p.name, "*")
}

// kindPrefixes are the beginnings that make a pattern one about resources or prompts. A server id holds no ':',
// so they cannot be the beginning of a server segment.
var kindPrefixes = [kinds]string{Resources: "resource:", Prompts: "prompt:"}

// parsePattern parses and checks text as a rule writes it.
func parsePattern(text string) (pattern, *PatternError) {
	if text == "" {
		return pattern{}, &PatternError{Problem: `it is empty (write "*" for every tool)`}
	}
	if err := checkBounds(text); err != nil {
		return pattern{}, err
	}
	p := pattern{server: "*", name: text, bare: true}
	at := 0 // the offset of the server segment
	for k := Resources; k < kinds; k++ {
		if rest, ok := strings.CutPrefix(text, kindPrefixes[k]); ok {
			p.kind, p.name, at = k, rest, len(kindPrefixes[k])
		}
	}
	noun := segmentNoun(p.kind)
	server, name, two := strings.Cut(p.name, "/")
	if !two {
		if p.kind != Tools {
			return pattern{}, &PatternError{Pattern: text, Offset: at, Problem: fmt.Sprintf(
				"a %s pattern needs a server (write %q for any server)", p.kind.one(), kindPrefixes[p.kind]+"*/"+p.name)}
		}
		return p, checkSegment(text, 0, p.name, "tool")
	}
	p.server, p.name, p.bare = server, name, false
	if err := checkServerSegment(text, at, server); err != nil {
		if p.kind == Resources && strings.HasSuffix(server, ":") && strings.HasPrefix(name, "/") {
			err.Problem = fmt.Sprintf("the server segment %q holds ':' (a resource pattern needs a server: write %q)",
				server, "resource:*/"+text[at:])
		}
		return pattern{}, err
	}
	at += len(server) + 1
	if name == "" {
		return pattern{}, &PatternError{Pattern: text, Offset: at, Problem: fmt.Sprintf(
			"the %s segment is empty (write %q for every %s)", noun, text+"*", noun)}
	}
	if p.kind != Resources && name[0] == '/' {
		return pattern{}, &PatternError{Pattern: text, Offset: at, Problem: fmt.Sprintf(
			"the %s segment begins with '/' (write one '/' between server and %s)", noun, noun)}
	}
	return p, checkSegment(text, at, name, noun)
}

// segmentNoun names the second segment of a pattern.
func segmentNoun(k Kind) string {
	if k == Resources {
		return "uri"
	}
	return k.one()
}

// parseServerGlob parses the server segment of a regexp rule.
func parseServerGlob(server string) *PatternError {
	if err := checkBounds(server); err != nil {
		return err
	}
	return checkServerSegment(server, 0, server)
}

func checkBounds(text string) *PatternError {
	if len(text) > maxPattern {
		return &PatternError{Pattern: text, Offset: maxPattern, Problem: fmt.Sprintf(
			"it has %d bytes, more than %d (split it)", len(text), maxPattern)}
	}
	if n := strings.Count(text, "*"); n > maxStars {
		return &PatternError{Pattern: text, Offset: 0, Problem: fmt.Sprintf(
			"it has %d stars, more than %d", n, maxStars)}
	}
	return nil
}

// checkServerSegment checks the server segment seg, which stands at offset at of text.
func checkServerSegment(text string, at int, seg string) *PatternError {
	if seg == "" {
		return &PatternError{Pattern: text, Offset: at, Problem: `the server segment is empty (write "*" for any server)`}
	}
	for i, r := range seg {
		switch {
		case r == ':':
			return &PatternError{Pattern: text, Offset: at + i, Problem: fmt.Sprintf(
				"the server segment %q holds ':', which no server id has", clip(seg))}
		case r == '/':
			return &PatternError{Pattern: text, Offset: at + i, Problem: fmt.Sprintf(
				"the server segment %q holds '/', which no server id has (give the server alone)", clip(seg))}
		case unicode.IsSpace(r):
			return &PatternError{Pattern: text, Offset: at + i, Problem: fmt.Sprintf(
				"the server segment %q holds white space, which no server id has", clip(seg))}
		}
	}
	return checkSegment(text, at, seg, "server")
}

// checkSegment checks what holds for every segment: seg stands at offset at of text and is called noun. It returns
// a nil *PatternError for a good one.
func checkSegment(text string, at int, seg, noun string) *PatternError {
	fail := func(i int, format string, args ...any) *PatternError {
		return &PatternError{Pattern: text, Offset: at + i, Problem: fmt.Sprintf("the "+noun+" segment "+format, args...)}
	}
	for i, r := range seg {
		switch {
		case r < utf8.RuneSelf && r > ' ' && r != 0x7f:
		case r == utf8.RuneError && badByte(seg[i:]):
			return fail(i, "is not valid UTF-8 at byte %d (0x%02x)", i, seg[i])
		case unicode.IsControl(r):
			return fail(i, "holds the control character %U", r)
		case invisible(r):
			return fail(i, "holds the invisible character %U (remove it: nobody who reads the rule can see it)", r)
		case i == 0 && unicode.IsSpace(r):
			return fail(i, "begins with white space (remove it)")
		}
	}
	if last, n := utf8.DecodeLastRuneInString(seg); unicode.IsSpace(last) {
		return fail(len(seg)-n, "ends with white space (remove it)")
	}
	return nil
}

// badByte reports whether s begins with a byte that is not UTF-8, and not with a real U+FFFD.
func badByte(s string) bool {
	_, n := utf8.DecodeRuneInString(s)
	return n == 1
}

func validUTF8(s string) bool { return utf8.ValidString(s) }

// invisible reports whether r is a control or a format character.
func invisible(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// unprintable reports whether r could change how a terminal or a page shows what is around it.
func unprintable(r rune) bool { return invisible(r) || r == '\u2028' || r == '\u2029' }
