package engine

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Paths below a Windows root. The text of a path is read as Windows reads it: '/' and '\' both separate, and a name has
// other names beside it (short names, device names, streams, dropped dots and spaces), all of which are refused.
//
// Letters compare without case. A file system does this with a table of its own, made when the volume was, and tables
// disagree: k and U+212A (Kelvin sign) are one letter to Unicode and two to NTFS. A yes that is wrong would widen what
// Inside allows, a no that is wrong what Outside allows, so there are three answers: the same, where one letter
// is the plain upper or lower case of the other; different, where no mapping of Unicode joins them; and neither,
// which refuses the path.

// compileWinRoot is [compilePathRoot] for a root that begins with a drive or with a backslash.
func compileWinRoot(root string) (*pathRoot, error) {
	r := &pathRoot{form: drivePath}
	if root[0] == '\\' {
		r.form = sharePath
	}
	rest, refusal := r.cutPrefix(root)
	if refusal == pathAccepted && len(rest) > 1 && isWinSeparator(rest[len(rest)-1]) {
		rest = rest[:len(rest)-1]
	}
	if refusal == pathAccepted {
		refusal = r.scanWin(rest)
	}
	switch refusal {
	case pathAccepted:
	case pathRelative, pathNoDrive:
		return nil, fmt.Errorf(`root %q: %w (write "C:/data" or '\\server\share\data')`, root, refusal)
	case pathDriveRelative:
		return nil, fmt.Errorf("root %q: %w (write %q)", root, refusal, root[:2]+"/"+root[2:])
	case pathShortShare:
		return nil, fmt.Errorf(`root %q: %w (write '\\server\share' or '\\server\share\data')`, root, refusal)
	case pathShortName:
		return nil, fmt.Errorf("root %q: %w (write the long name)", root, refusal)
	default:
		return nil, fmt.Errorf("root %q: %w", root, refusal)
	}
	if r.form == drivePath {
		r.drive = root[0] &^ 0x20
	}
	for rest != "" {
		var segment string
		segment, rest = cutWin(rest)
		r.segments = append(r.segments, strings.Clone(segment))
	}
	return r, nil
}

// holdsWin is [pathRoot.holds] below a Windows root.
func (r *pathRoot) holdsWin(path string) (verdict, pathRefusal) {
	rest, refusal := r.cutPrefix(path)
	if refusal == pathAccepted {
		refusal = r.scanWin(rest)
	}
	if refusal != pathAccepted {
		return verdictFailed, refusal
	}
	if r.form == drivePath && path[0]&^0x20 != r.drive {
		return verdictNo, pathAccepted
	}
	all := verdictYes
	for _, want := range r.segments {
		var got string
		got, rest = cutWin(rest)
		switch sameWinName(got, want) {
		case verdictNo:
			return verdictNo, pathAccepted
		case verdictFailed:
			all = verdictFailed
		}
	}
	if all == verdictFailed {
		return verdictFailed, pathCase
	}
	return all, pathAccepted
}

// cutPrefix returns the segments of path: what is behind `C:\` or `\\`. It refuses what is not of the root's form.
func (r *pathRoot) cutPrefix(path string) (rest string, refusal pathRefusal) {
	switch {
	case isWinSeparator(path[0]) && len(path) > 1 && isWinSeparator(path[1]):
		server, _ := cutWin(path[2:])
		switch {
		case server == "?" || server == ".":
			return "", pathDevice
		case r.form != sharePath:
			return "", pathShare
		}
		return path[2:], pathAccepted
	case isWinSeparator(path[0]):
		if namespace, _ := cutWin(path[1:]); namespace == "??" {
			return "", pathDevice
		}
		return "", pathNoDrive
	case len(path) < 2 || path[1] != ':' || !isDriveLetter(path[0]):
		return "", pathRelative
	case len(path) == 2 || !isWinSeparator(path[2]):
		return "", pathDriveRelative
	case r.form != drivePath:
		return "", pathDrive
	default:
		return path[3:], pathAccepted
	}
}

// scanWin returns why the segments of a path are refused.
func (r *pathRoot) scanWin(rest string) pathRefusal {
	if rest == "" && r.form == drivePath {
		return pathAccepted
	}
	count := 0
	for more := true; more; count++ {
		end := strings.IndexAny(rest, `/\`)
		segment := rest
		if more = end >= 0; more {
			segment, rest = rest[:end], rest[end+1:]
		}
		if refusal := scanWinName(segment); refusal != pathAccepted {
			return refusal
		}
	}
	if r.form == sharePath && count < 2 {
		return pathShortShare
	}
	return pathAccepted
}

// scanWinName returns why one segment is refused.
func scanWinName(name string) pathRefusal {
	switch name {
	case "":
		return pathEmptySegment
	case ".", "..":
		return pathDotSegment
	}
	for i, c := range name {
		switch c {
		case ':':
			return pathColon
		case '<', '>', '"', '|', '?', '*':
			return pathForbidden
		case '~':
			if i+1 < len(name) && '0' <= name[i+1] && name[i+1] <= '9' {
				return pathShortName
			}
		default:
			if unicode.IsControl(c) {
				return pathControl
			}
		}
	}
	if last := name[len(name)-1]; last == '.' || last == ' ' {
		return pathTrailing
	}
	if isWinDevice(name) {
		return pathReserved
	}
	return pathAccepted
}

// isWinDevice reports whether name means a device in every folder: with any extension, and with spaces before it.
func isWinDevice(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	base = strings.TrimRight(base, " ")
	for _, device := range []string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"} {
		if strings.EqualFold(base, device) {
			return true
		}
	}
	if len(base) < 4 || !strings.EqualFold(base[:3], "COM") && !strings.EqualFold(base[:3], "LPT") {
		return false
	}
	switch base[3:] {
	case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³":
		return true
	}
	return false
}

// sameWinName compares two names without case: yes, no, or verdictFailed where systems disagree.
func sameWinName(a, b string) verdict {
	same := verdictYes
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		a, b = a[n:], b[m:]
		switch sameWinLetter(x, y) {
		case verdictNo:
			return verdictNo
		case verdictFailed:
			same = verdictFailed
		}
	}
	if a != b {
		return verdictNo
	}
	return same
}

func sameWinLetter(x, y rune) verdict {
	if x == y {
		return verdictYes
	}
	upper := unicode.ToUpper(x) == unicode.ToUpper(y)
	lower := unicode.ToLower(x) == unicode.ToLower(y)
	switch {
	case upper && lower && x <= 0xFFFF && y <= 0xFFFF: // NTFS maps 16-bit units, so letters beyond keep their case
		return verdictYes
	case upper || lower || foldsTo(x, y):
		return verdictFailed
	default:
		return verdictNo
	}
}

// foldsTo reports whether y is in the orbit of x under simple case folding, as in [strings.EqualFold].
func foldsTo(x, y rune) bool {
	for r := unicode.SimpleFold(x); r != x; r = unicode.SimpleFold(r) {
		if r == y {
			return true
		}
	}
	return false
}

// cutWin returns the first segment and what is behind its separator.
func cutWin(rest string) (segment, after string) {
	if end := strings.IndexAny(rest, `/\`); end >= 0 {
		return rest[:end], rest[end+1:]
	}
	return rest, ""
}

func isWinSeparator(c byte) bool { return c == '/' || c == '\\' }
