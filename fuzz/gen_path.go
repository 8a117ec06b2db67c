package fuzz

import "strings"

// roots are what paths are held against.
var roots = []string{
	"/data", "/data/", "/", "/data/x", "/DATA", `C:\data`, `c:/data`, `C:\`, `C:/`, `C:\data\`, `D:\Data\x`, `\\srv\share`, `\\srv\share\data`, `\\SRV\Share\`,
}

var badRoots = []string{
	"", "data", "/data//", "/data/..", "/./data", "//data", "/data\\x", "/da\x00ta", "C:", "C:data", `C:\data\..`, `C:\data.`, `C:\DATA~1`, `C:\nul`, `\\?\C:\x`, `\\.\x`,
	`\\srv`, `\\srv\`, `\data`, "C:\\da\nta", `1:\x`, `C:\a:b`, `C:\a\\b`, `\\?\`, `\\srv\share\con`, "~/x",
}

// pathStarts and pathSegments are what paths are made of.
var (
	pathStarts   = []string{"/", "", `C:\`, "c:/", `\\srv\share`, "//SRV/share", `C:`, `D:\`, `\\?\C:\`, `\\.\`, `\`, "//", `\\`, "/data", `C:\data`, `\??\C:\`}
	pathSegments = []string{
		"data", "Data", "DATA", "x", "data-evil", "..", ".", "", "...", "a.", "a ", " a", "nul", "NUL.txt", "con .x", "com1", "COM10", "lpt9.log", "aux.", "DATA~1", "a~b",
		"a~1b", "a:b", "a\x00b", "a\nb", "é", "É", "conin$", "share", "srv", "com¹", "prn", "nulx", "\x7f", "*", "a?b", "%2e%2e", "~", "\xff", "con.tar.gz",
	}
	separators = []string{"/", `\`, "//"}
)

// Root returns the root of a path condition.
func (g *Gen) Root() string {
	if g.odds(3) && !g.Valid {
		return pick(g, badRoots)
	}
	return pick(g, roots)
}

// Path returns a path, or what is meant to look like one.
func (g *Gen) Path() string {
	if g.odds(50) { // near a root
		s := pick(g, roots)
		for range g.Intn(3) {
			s += pick(g, separators[:2]) + pick(g, pathSegments)
		}
		if g.odds(20) {
			s = strings.ToUpper(s)
		}
		return s
	}
	s := pick(g, pathStarts)
	for range g.Intn(4) {
		s += pick(g, pathSegments)
		if g.odds(70) {
			s += pick(g, separators)
		}
	}
	return s
}
