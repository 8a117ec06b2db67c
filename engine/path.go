package engine

import (
	"errors"
	"fmt"
	slashpath "path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Whether one path lies below another, from their text alone.
//
// The naive way is to clean the path and to look whether the root is a prefix. It is wrong three times: /data-evil
// has the prefix /data; cleaning /data/link/../x assumes that link is no symbolic link; and a file system knows
// more names for a file than one. So nothing is cleaned: a path that could mean another file than it says is
// refused, which makes the condition fail rather than answer, and what is left is compared segment by segment.
// The form of the root, POSIX or Windows, decides how both are read (path_win.go has the second).
//
//	root /data     /data  /data/x      inside
//	               /  /data-evil  /x   outside
//	               data/x  /data/../x  /data//x  /data/x/  /data/x\y  C:\data    refused

// pathRoot is a compiled root: immutable.
type pathRoot struct {
	form     pathForm
	drive    byte     // of a drive root: the letter in upper case
	segments []string // at least two of a share root, its server and its share; none of / and C:\
}

// pathForm is how a root is written, and so how paths are read that are held against it.
type pathForm uint8

const (
	posixPath pathForm = iota // /data
	drivePath                 // C:\data
	sharePath                 // \\server\share\data
)

// pathRefusal is why a path is refused. It is an error that is [ErrPathRefused].
type pathRefusal uint8

const (
	pathAccepted pathRefusal = iota
	pathEmpty
	pathRelative
	pathNotUTF8
	pathControl
	pathEmptySegment
	pathDotSegment
	pathBackslash
	pathNoDrive
	pathDriveRelative
	pathDevice
	pathShare
	pathShortShare
	pathDrive
	pathColon
	pathForbidden
	pathTrailing
	pathShortName
	pathReserved
	pathCase
)

var pathRefusals = [...]string{
	pathAccepted:      "the path is accepted",
	pathEmpty:         "the path is empty",
	pathRelative:      "the path is relative",
	pathNotUTF8:       "the path is not valid UTF-8",
	pathControl:       "the path has a control character",
	pathEmptySegment:  "the path has an empty segment (a doubled or a trailing separator)",
	pathDotSegment:    "the path has a '.' or '..' segment",
	pathBackslash:     "the path has a backslash",
	pathNoDrive:       "the path has no drive letter",
	pathDriveRelative: "the path is relative to the current folder of its drive",
	pathDevice:        `the path is in a device namespace (\\?\, \\.\ or \??\)`,
	pathShare:         "the path is on a network share, which can be a folder of this drive",
	pathShortShare:    "the path names no share of its server",
	pathDrive:         "the path has a drive letter, which can stand for the network share",
	pathColon:         "the path has a ':' behind the drive letter (a stream)",
	pathForbidden:     `the path has a character that no Windows name can have (< > " | ? *)`,
	pathTrailing:      "the path has a segment that ends in a dot or a space, which Windows drops",
	pathShortName:     "the path has a segment with '~' before a digit (a short name)",
	pathReserved:      "the path has a reserved device name",
	pathCase:          "the path differs from the root in the case of letters whose case is not the same on every system",
}

// Error returns the reason.
func (r pathRefusal) Error() string { return pathRefusals[r] }

// Is reports whether target is [ErrPathRefused].
func (r pathRefusal) Is(target error) bool { return target == ErrPathRefused }

// compilePathRoot checks root and compiles it. One trailing separator is allowed.
func compilePathRoot(root string) (*pathRoot, error) {
	switch {
	case root == "":
		return nil, errors.New(`the root is empty (write an absolute path, such as "/data")`)
	case !utf8.ValidString(root):
		return nil, fmt.Errorf("root %q: %w", root, pathNotUTF8)
	case root[0] == '\\' || len(root) > 1 && isDriveLetter(root[0]) && root[1] == ':':
		return compileWinRoot(root)
	case root[0] != '/':
		return nil, fmt.Errorf(`root %q: %w (write "/data", "C:/data" or '\\server\share\data')`, root, pathRelative)
	case strings.HasPrefix(root, "//"):
		return nil, fmt.Errorf(`root %q: %w (write "/data", or '\\server\share\data' for a network share)`, root, pathEmptySegment)
	}
	body := root
	if len(root) > 1 {
		body = strings.TrimSuffix(root, "/")
	}
	switch refusal := scanPosix(body); refusal {
	case pathAccepted:
	case pathDotSegment, pathEmptySegment:
		return nil, fmt.Errorf("root %q: %w (write %q)", root, refusal, slashpath.Clean(root))
	case pathBackslash:
		return nil, fmt.Errorf(`root %q: %w (write "/" between segments, and a Windows root with its drive, such as "C:/data")`, root, refusal)
	default:
		return nil, fmt.Errorf("root %q: %w", root, refusal)
	}
	r := &pathRoot{form: posixPath}
	if body != "/" {
		r.segments = strings.Split(strings.Clone(body[1:]), "/")
	}
	return r, nil
}

// holds reports whether path is the root or lies below it. Of a path that it refuses it says verdictFailed and why.
//
// Cost: linear in path; it allocates nothing.
func (r *pathRoot) holds(path string) (verdict, pathRefusal) {
	switch {
	case path == "":
		return verdictFailed, pathEmpty
	case !utf8.ValidString(path):
		return verdictFailed, pathNotUTF8
	case r.form != posixPath:
		return r.holdsWin(path)
	}
	if refusal := scanPosix(path); refusal != pathAccepted {
		return verdictFailed, refusal
	}
	rest := path[1:]
	for _, want := range r.segments {
		got, after, _ := strings.Cut(rest, "/")
		if got != want {
			return verdictNo, pathAccepted
		}
		rest = after
	}
	return verdictYes, pathAccepted
}

// scanPosix returns why a POSIX path is refused. The one path without segments is "/".
func scanPosix(path string) pathRefusal {
	if path[0] != '/' {
		return pathRelative
	}
	for _, c := range path {
		switch {
		case unicode.IsControl(c):
			return pathControl
		case c == '\\':
			return pathBackslash
		}
	}
	if path == "/" {
		return pathAccepted
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		switch segment {
		case "":
			return pathEmptySegment
		case ".", "..":
			return pathDotSegment
		}
	}
	return pathAccepted
}

func isDriveLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
