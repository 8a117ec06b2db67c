package fuzz

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// path is an absolute path in pieces: what it hangs on, and its segments.
type path struct {
	volume   string // "/", "c:" or `\\server\share`
	segments []string
}

// inside decides section 5.6: whether v is at or under root. It fails where the predicate does.
func inside(v any, root string) truth {
	s, ok := v.(string)
	if !ok {
		return failed // "one that is not a string"
	}
	at, err := readRoot(root)
	if err != nil {
		panic(err) // "The root is checked when compiled"
	}
	read, same := readWindows, sameWithoutCase
	if at.volume == "/" {
		read, same = readPosix, func(a, b string) truth { return truthOf(a == b) } // "POSIX segments compare by bytes"
	}
	p, err := read(s)
	if err != nil {
		return failed
	}
	// "UNC unless the root is one". The text does not say what a path with a drive is under a UNC root: a drive
	// can be mapped to that very share, so it is refused (ours).
	if strings.HasPrefix(p.volume, `\\`) != strings.HasPrefix(at.volume, `\\`) {
		return failed
	}
	// "They compare whole segments"
	parts := []truth{same(at.volume, p.volume), truthOf(len(p.segments) >= len(at.segments))}
	for i := 0; i < len(at.segments) && i < len(p.segments); i++ {
		parts = append(parts, same(at.segments[i], p.segments[i]))
	}
	return every(parts)
}

// sameWithoutCase compares two names of Windows: "letters compared without case". Letters that only some of Unicode's
// mappings join are one letter to some systems and two to others, and so are those beyond U+FFFF: then there is no
// answer (ours).
func sameWithoutCase(a, b string) truth {
	x, y := []rune(a), []rune(b)
	if len(x) != len(y) {
		return no
	}
	var parts []truth
	for i := range x {
		switch {
		case x[i] == y[i]:
			parts = append(parts, yes)
		case !sameButForCase(string(x[i]), string(y[i])) &&
			unicode.ToLower(x[i]) != unicode.ToLower(y[i]) && unicode.ToUpper(x[i]) != unicode.ToUpper(y[i]):
			parts = append(parts, no)
		case x[i] < 0x10000 && y[i] < 0x10000 &&
			unicode.ToLower(x[i]) == unicode.ToLower(y[i]) && unicode.ToUpper(x[i]) == unicode.ToUpper(y[i]):
			parts = append(parts, yes)
		default:
			parts = append(parts, failed)
		}
	}
	return every(parts)
}

// readRoot reads the root of a predicate: "one trailing / on it is allowed", behind a segment: "//" is not "/".
func readRoot(root string) (path, error) {
	n := len(root)
	if strings.HasPrefix(root, "/") {
		if strings.HasSuffix(root, "/") && n > 1 && root[n-2] != '/' {
			root = root[:n-1]
		}
		return readPosix(root)
	}
	isSeparator := func(c byte) bool { return c == '/' || c == '\\' }
	if n > 3 && isSeparator(root[n-1]) && !isSeparator(root[n-2]) { // C:\ keeps its own
		root = root[:n-1]
	}
	return readWindows(root)
}

// readPosix reads an absolute POSIX path, or refuses it. "/" is the root directory.
func readPosix(s string) (path, error) {
	p := path{volume: "/"}
	switch {
	case !utf8.ValidString(s): // not in the text (ours)
		return p, fmt.Errorf("not UTF-8")
	case !strings.HasPrefix(s, "/"):
		return p, fmt.Errorf("a relative path")
	case strings.ContainsFunc(s, unicode.IsControl):
		return p, fmt.Errorf("a control character")
	case strings.Contains(s, `\`):
		return p, fmt.Errorf("a backslash")
	case s == "/":
		return p, nil
	}
	for _, segment := range strings.Split(s[1:], "/") {
		if segment == "" || segment == "." || segment == ".." {
			return p, fmt.Errorf("segment %q", segment)
		}
		p.segments = append(p.segments, segment)
	}
	return p, nil
}

var (
	shortName = regexp.MustCompile(`~[0-9]`)
	device    = regexp.MustCompile(`(?i)^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(\..*)?$`)
	drive     = regexp.MustCompile(`^[A-Za-z]:/`)
)

// readWindows reads an absolute Windows path, or refuses it. "Either separator": everything is read with "/".
func readWindows(s string) (path, error) {
	var p path
	if strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s) {
		return p, fmt.Errorf("a control character, or not UTF-8")
	}
	s = strings.ReplaceAll(s, `\`, "/")
	var rest string
	switch {
	case s == "//?" || s == "//." || strings.HasPrefix(s, "//?/") || strings.HasPrefix(s, "//./"):
		return p, fmt.Errorf("a device path")
	case strings.HasPrefix(s, "//"):
		parts := strings.SplitN(s[2:], "/", 3)
		if len(parts) < 2 {
			return p, fmt.Errorf("a UNC path without a share")
		}
		for _, part := range parts[:2] {
			if err := checkWindowsSegment(part); err != nil {
				return p, err
			}
		}
		p.volume = `\\` + parts[0] + `\` + parts[1]
		if len(parts) == 2 {
			return p, nil
		}
		rest = parts[2]
	case drive.MatchString(s):
		p.volume = s[:2]
		if len(s) == 3 {
			return p, nil
		}
		rest = s[3:]
	default:
		return p, fmt.Errorf("a relative path, or C:x")
	}
	for _, segment := range strings.Split(rest, "/") {
		if err := checkWindowsSegment(segment); err != nil {
			return p, err
		}
		p.segments = append(p.segments, segment)
	}
	return p, nil
}

func checkWindowsSegment(segment string) error {
	switch {
	case segment == "" || segment == "." || segment == "..":
		return fmt.Errorf("segment %q", segment)
	case strings.Contains(segment, ":"):
		return fmt.Errorf("a second colon")
	case strings.HasSuffix(segment, ".") || strings.HasSuffix(segment, " "):
		return fmt.Errorf("a trailing dot or space")
	case shortName.MatchString(segment):
		return fmt.Errorf("~ and a digit")
	case device.MatchString(segment):
		return fmt.Errorf("a reserved device name")
	case strings.ContainsAny(segment, `<>"|?*`): // not in the text (ours): no Windows name can have one
		return fmt.Errorf("a character that no name has")
	}
	return nil
}
