package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mustRoot(t testing.TB, root string) *pathRoot {
	t.Helper()
	r, err := compilePathRoot(root)
	require.NoError(t, err, root)
	return r
}

// pathAnswer is what Inside says: "inside", "outside" or the refusal.
func pathAnswer(r *pathRoot, path string) string {
	switch v, refusal := r.holds(path); v {
	case verdictYes:
		return "inside"
	case verdictNo:
		return "outside"
	default:
		return refusal.Error()
	}
}

const (
	refusedRelative = "the path is relative"
	refusedSegment  = "the path has an empty segment (a doubled or a trailing separator)"
	refusedDot      = "the path has a '.' or '..' segment"
	refusedControl  = "the path has a control character"
	refusedUTF8     = "the path is not valid UTF-8"
)

func TestPathsBelowAPOSIXRoot(t *testing.T) {
	for _, c := range []struct{ root, path, want string }{
		// Whole segments are compared; the root itself is inside.
		{"/data", "/data", "inside"},
		{"/data", "/data/x", "inside"},
		{"/data", "/data/x/y.txt", "inside"},
		{"/data", "/data-evil", "outside"},
		{"/data", "/data-evil/x", "outside"},
		{"/data", "/dat", "outside"},
		{"/data", "/", "outside"},
		{"/data", "/x/data", "outside"},
		{"/data/in", "/data", "outside"},
		{"/data/in", "/data/in/x", "inside"},
		{"/data/in", "/data/input", "outside"},
		{"/data/", "/data", "inside"},
		{"/data/", "/data/x", "inside"},
		{"/", "/", "inside"},
		{"/", "/etc/passwd", "inside"},
		// Segments compare by bytes.
		{"/data", "/Data/x", "outside"},
		{"/d\u00e9", "/de\u0301", "outside"},
		{"/\u00e9", "/\u00c9", "outside"},
		// What is no plain absolute path is refused.
		{"/data", "", "the path is empty"},
		{"/data", "data/x", refusedRelative},
		{"/data", "./data/x", refusedRelative},
		{"/data", "~/x", refusedRelative},
		{"/data", " /data", refusedRelative},
		{"/data", "file:///data/x", refusedRelative},
		{"/data", `C:\data`, refusedRelative},
		{"/data", `\\server\share`, refusedRelative},
		{"/data", "/data/.", refusedDot},
		{"/data", "/data/./x", refusedDot},
		{"/data", "/data/../etc", refusedDot},
		{"/data", "/data/x/..", refusedDot},
		{"/data", "/..", refusedDot},
		{"/data", "/.", refusedDot},
		{"/data", "/other/../data/x", refusedDot},
		{"/data", "/data/x/", refusedSegment},
		{"/data", "/data/", refusedSegment},
		{"/data", "/data//x", refusedSegment},
		{"/data", "//data/x", refusedSegment},
		{"/data", "//", refusedSegment},
		{"/data", "/other//x", refusedSegment},
		{"/data", "/data/x\x00.png", refusedControl},
		{"/data", "/data/x\n", refusedControl},
		{"/data", "/data/\x1b[2J", refusedControl},
		{"/data", "/data/\x7f", refusedControl},
		{"/data", "/data/\u0085", refusedControl},
		{"/data", "/other/\t", refusedControl},
		{"/data", `/data/x\..\..\etc`, "the path has a backslash"},
		{"/data", `/data\x`, "the path has a backslash"},
		{"/data", "/data/\xff", refusedUTF8},
		{"/data", "/data/\xc0\xae\xc0\xae/x", refusedUTF8},
		// These are names like any other.
		{"/data", "/data/...", "inside"},
		{"/data", "/data/..x", "inside"},
		{"/data", "/data/x ", "inside"},
		{"/data", "/data/%2e%2e/x", "inside"},
		{"/data", "/data/a:b?*", "inside"},
		{"/data", "/data/NUL", "inside"},
		{"/data", "/data/\uff0e\uff0e", "inside"},
	} {
		assert.Equal(t, c.want, pathAnswer(mustRoot(t, c.root), c.path), "%q below %q", c.path, c.root)
	}
}

func TestPathsBelowAWindowsRoot(t *testing.T) {
	const (
		noDrive   = "the path has no drive letter"
		device    = `the path is in a device namespace (\\?\, \\.\ or \??\)`
		share     = "the path is on a network share, which can be a folder of this drive"
		relative  = "the path is relative to the current folder of its drive"
		colon     = "the path has a ':' behind the drive letter (a stream)"
		trailing  = "the path has a segment that ends in a dot or a space, which Windows drops"
		short     = "the path has a segment with '~' before a digit (a short name)"
		reserved  = "the path has a reserved device name"
		forbidden = `the path has a character that no Windows name can have (< > " | ? *)`
		letters   = "the path differs from the root in the case of letters whose case is not the same on every system"
		noShare   = "the path names no share of its server"
		drive     = "the path has a drive letter, which can stand for the network share"
	)
	for _, c := range []struct{ root, path, want string }{
		{`C:\data`, `C:\data`, "inside"},
		{`C:\data`, `C:\data\x`, "inside"},
		{`C:\data`, `C:\data-evil`, "outside"},
		{`C:\data`, `C:\`, "outside"},
		{`C:\data`, `D:\data`, "outside"},
		{`C:\data\`, `C:\data\x`, "inside"},
		{`C:\`, `c:\x`, "inside"},
		{`C:\`, `C:\`, "inside"},
		{`C:/`, `D:\`, "outside"},
		// Either separator.
		{`C:/data`, `C:\data\x`, "inside"},
		{`C:\data`, `C:/data/x`, "inside"},
		{`C:\data/in`, `C:/data\in/x`, "inside"},
		{`C:\data`, `C:/data-evil/x`, "outside"},
		// Letters without case.
		{`C:\data`, `c:\DATA\x`, "inside"},
		{`c:\Data`, `C:\dATA`, "inside"},
		{`C:\déjà`, `C:\DÉJÀ\x`, "inside"},
		{`C:\Ωmega`, `C:\ωMEGA`, "inside"},
		{`C:\Путь`, `C:\ПУТЬ`, "inside"},
		{`C:\data\keys`, "C:\\data\\\u212aeys", letters}, // Kelvin sign
		{`C:\docs`, "C:\\doc\u017f", letters},            // long s
		{`C:\docs`, "C:\\doc\u017fx", "outside"},
		{`C:\docs\x`, "C:\\doc\u017f\\y", "outside"},
		{`C:\ς`, `C:\σ`, letters},
		{`C:\in`, "C:\\\u0131n", letters}, // dotless i
		{`C:\in`, "C:\\\u0130n", letters}, // dotted I
		{"C:\\\u00b5", "C:\\\u03bc", letters},
		{"C:\\\u03f4", "C:\\\u03d1", letters},         // two thetas, each the other's neither upper nor lower case
		{"C:\\\U00010400", "C:\\\U00010428", letters}, // beyond 16 bits
		{`C:\straße`, `C:\STRASSE`, "outside"},
		{`C:\é`, "C:\\e\u0301", "outside"},
		// No absolute path.
		{`C:\data`, ``, "the path is empty"},
		{`C:\data`, `data\x`, refusedRelative},
		{`C:\data`, `C`, refusedRelative},
		{`C:\data`, `1:\x`, refusedRelative},
		{`C:\data`, `@:\x`, refusedRelative},
		{`C:\data`, `é:\x`, refusedRelative},
		{`C:\data`, `file:///C:/data`, refusedRelative},
		{`C:\data`, `\data\x`, noDrive},
		{`C:\data`, `/data/x`, noDrive},
		{`C:\data`, `\`, noDrive},
		{`C:\data`, `C:data`, relative},
		{`C:\data`, `C:`, relative},
		{`C:\data`, `C:..\x`, relative},
		// Device namespaces, in any mixture of separators.
		{`C:\data`, `\\?\C:\data\x`, device},
		{`C:\data`, `\\.\C:\data\x`, device},
		{`C:\data`, `//?/C:/data/x`, device},
		{`C:\data`, `//./C:/data/x`, device},
		{`C:\data`, `\/?\C:\data`, device},
		{`C:\data`, `/\.\C:\data`, device},
		{`C:\data`, `\\?`, device},
		{`C:\data`, `\??\C:\data\x`, device},
		{`C:\data`, `/??/C:/data`, device},
		{`C:\data`, `\\?\UNC\server\share`, device},
		// A share, and anything else behind two separators.
		{`C:\data`, `\\server\share`, share},
		{`C:\data`, `\\localhost\C$\data`, share},
		{`C:\data`, `//127.0.0.1/C$/data`, share},
		{`C:\data`, `\\`, share},
		// Segments.
		{`C:\data`, `C:\data\..\x`, refusedDot},
		{`C:\data`, `C:/data/./x`, refusedDot},
		{`C:\data`, `C:\data\\x`, refusedSegment},
		{`C:\data`, `C:\data\/x`, refusedSegment},
		{`C:\data`, `C:\data\x\`, refusedSegment},
		{`C:\data`, `C:\\data`, refusedSegment},
		{`C:\data`, "C:\\data\\a\x00b", refusedControl},
		{`C:\data`, "C:\\data\\a\rb", refusedControl},
		{`C:\data`, "C:\\data\\\u009f", refusedControl},
		{`C:\data`, "C:\\data\\\xff", refusedUTF8},
		{`C:\data`, `C:\data\x.txt:stream`, colon},
		{`C:\data`, `C:\data\x::$DATA`, colon},
		{`C:\data`, `C:\data:x`, colon},
		{`C:\data`, `C:\C:\data`, colon},
		{`C:\data`, `C:\data\x.`, trailing},
		{`C:\data`, `C:\data.\x`, trailing},
		{`C:\data`, `C:\data \x`, trailing},
		{`C:\data`, `C:\data\x...`, trailing},
		{`C:\data`, `C:\data\...`, trailing},
		{`C:\data`, `C:\data\x. .`, trailing},
		{`C:\data`, `C:\DATA~1\x`, short},
		{`C:\data`, `C:\data\PROGRA~2`, short},
		{`C:\data`, `C:\data\a~9b.txt`, short},
		{`C:\data`, `C:\data\~x`, "inside"},
		{`C:\data`, `C:\data\x~`, "inside"},
		{`C:\data`, `C:\data\~$doc.docx`, "inside"},
		{`C:\data`, `C:\data\a<b`, forbidden},
		{`C:\data`, `C:\data\a>b`, forbidden},
		{`C:\data`, `C:\data\a"b`, forbidden},
		{`C:\data`, `C:\data\a|b`, forbidden},
		{`C:\data`, `C:\data\a?b`, forbidden},
		{`C:\data`, `C:\data\*`, forbidden},
		// Refused even where the path is plainly elsewhere.
		{`C:\data`, `D:\x\..\y`, refusedDot},
		{`C:\data`, `D:\NUL`, reserved},
		// Shares.
		{`\\server\share`, `\\server\share`, "inside"},
		{`\\server\share`, `\\SERVER\Share\x`, "inside"},
		{`\\server\share\dir`, `//server/share/dir/x`, "inside"},
		{`\\server\share\dir\`, `\/server\share\dir`, "inside"},
		{`\\server\share\dir`, `\\server\share\dir2`, "outside"},
		{`\\server\share\dir`, `\\server\share`, "outside"},
		{`\\server\share\dir`, `\\server\other\dir`, "outside"},
		{`\\server\share\dir`, `\\evil\share\dir`, "outside"},
		{`\\server\share\dir`, `\\server`, noShare},
		{`\\server\share\dir`, `\\server\`, refusedSegment},
		{`\\server\share\dir`, `\\`, refusedSegment},
		{`\\server\share\dir`, `\\\server\share`, refusedSegment},
		{`\\server\share\dir`, `\\server\share\..\x`, refusedDot},
		{`\\server\share\dir`, `\\.\server\share`, device},
		{`\\server\share\dir`, `\\?\UNC\server\share\dir`, device},
		{`\\server\share\dir`, `\\server.\share\dir`, trailing},
		{`\\server\share\dir`, `\\server\share\dir\a:b`, colon},
		{`\\server\share\dir`, `C:\x`, drive},
		{`\\server\share\dir`, `C:x`, relative},
		{`\\server\share\dir`, `\server\share\dir`, noDrive},
		{`\\server\share\dir`, `server\share`, refusedRelative},
	} {
		assert.Equal(t, c.want, pathAnswer(mustRoot(t, c.root), c.path), "%q below %q", c.path, c.root)
	}
	root := mustRoot(t, `C:\data`)
	for _, name := range []string{
		"CON", "con", "Prn", "AUX", "nul", "NUL.txt", "nul.tar.gz", "con .txt", "CON  .x.y", "COM1", "com9", "COM0", "LPT1", "lpt9",
		"LPT0", "COM¹", "com²", "COM³", "lpt¹.txt", "LPT²", "LPT³", "CONIN$", "conout$", "CONOUT$.log", "AUX.", "COM1.x",
	} {
		want := reserved
		if strings.HasSuffix(name, ".") {
			want = trailing
		}
		assert.Equal(t, want, pathAnswer(root, `C:\data\`+name), name)
		assert.Equal(t, want, pathAnswer(root, `C:\`+name+`\x`), name)
	}
	for _, name := range []string{"CONSOLE", "COM", "COM10", "COM11", "LPT", "NULL", "xCON", "CON$", "COM⁴", "AUX1", "CO.N", ".NUL", "COMX", "$CONIN$"} {
		assert.Equal(t, "inside", pathAnswer(root, `C:\data\`+name), name)
	}
}

func TestRootsAreCheckedWhenCompiled(t *testing.T) {
	for _, c := range []struct{ root, want string }{
		{``, `the root is empty (write an absolute path, such as "/data")`},
		{`data`, `root "data": the path is relative (write "/data", "C:/data" or '\\server\share\data')`},
		{`.`, `root ".": the path is relative (write "/data", "C:/data" or '\\server\share\data')`},
		{`~/x`, `root "~/x": the path is relative (write "/data", "C:/data" or '\\server\share\data')`},
		{`file:///data`, `root "file:///data": the path is relative (write "/data", "C:/data" or '\\server\share\data')`},
		{`//`, `root "//": the path has an empty segment (a doubled or a trailing separator) (write "/data", or '\\server\share\data' for a network share)`},
		{`//server/share`, `root "//server/share": the path has an empty segment (a doubled or a trailing separator) (write "/data", or '\\server\share\data' for a network share)`},
		{`/data//`, `root "/data//": the path has an empty segment (a doubled or a trailing separator) (write "/data")`},
		{`/data//x`, `root "/data//x": the path has an empty segment (a doubled or a trailing separator) (write "/data/x")`},
		{`/data/./x`, `root "/data/./x": the path has a '.' or '..' segment (write "/data/x")`},
		{`/data/../x`, `root "/data/../x": the path has a '.' or '..' segment (write "/x")`},
		{`/data\x`, `root "/data\\x": the path has a backslash (write "/" between segments, and a Windows root with its drive, such as "C:/data")`},
		{"/data\x00", `root "/data\x00": the path has a control character`},
		{"/data\n", `root "/data\n": the path has a control character`},
		{"/data\xff", `root "/data\xff": the path is not valid UTF-8`},
		{`C:`, `root "C:": the path is relative to the current folder of its drive (write "C:/")`},
		{`C:data`, `root "C:data": the path is relative to the current folder of its drive (write "C:/data")`},
		{`\data`, `root "\\data": the path has no drive letter (write "C:/data" or '\\server\share\data')`},
		{`\`, `root "\\": the path has no drive letter (write "C:/data" or '\\server\share\data')`},
		{`\\server`, `root "\\\\server": the path names no share of its server (write '\\server\share' or '\\server\share\data')`},
		{`\\server\`, `root "\\\\server\\": the path names no share of its server (write '\\server\share' or '\\server\share\data')`},
		{`\\`, `root "\\\\": the path has an empty segment (a doubled or a trailing separator)`},
		{`\\?\C:\data`, `root "\\\\?\\C:\\data": the path is in a device namespace (\\?\, \\.\ or \??\)`},
		{`C:\data\\`, `root "C:\\data\\\\": the path has an empty segment (a doubled or a trailing separator)`},
		{`C:\\`, `root "C:\\\\": the path has an empty segment (a doubled or a trailing separator)`},
		{`C:\data\..`, `root "C:\\data\\..": the path has a '.' or '..' segment`},
		{`C:\data:x`, `root "C:\\data:x": the path has a ':' behind the drive letter (a stream)`},
		{`C:\data.`, `root "C:\\data.": the path has a segment that ends in a dot or a space, which Windows drops`},
		{`C:\PROGRA~1`, `root "C:\\PROGRA~1": the path has a segment with '~' before a digit (a short name) (write the long name)`},
		{`C:\nul`, `root "C:\\nul": the path has a reserved device name`},
		{`C:\a*`, `root "C:\\a*": the path has a character that no Windows name can have (< > " | ? *)`},
		{"C:\\a\x01", `root "C:\\a\x01": the path has a control character`},
	} {
		r, err := compilePathRoot(c.root)
		assert.Nil(t, r)
		assert.EqualError(t, err, c.want)
		if c.root != "" {
			assert.ErrorIs(t, err, ErrPathRefused)
		}
	}
	for _, root := range []string{"/", "/data", "/data/", `C:\`, `c:/`, `C:\data\`, `C:/data/`, `\\server\share`, `\\server/share\dir/`} {
		assert.NotNil(t, mustRoot(t, root), root)
	}
}

func TestEveryRefusalHasAReason(t *testing.T) {
	seen := map[string]bool{}
	for r := range pathRefusal(len(pathRefusals)) {
		assert.NotEmpty(t, r.Error(), "%d", r)
		assert.False(t, seen[r.Error()], r.Error())
		seen[r.Error()] = true
	}
	assert.Equal(t, int(pathCase)+1, len(pathRefusals))
}

func TestPathsAllocateNothing(t *testing.T) {
	posix, win := mustRoot(t, "/data/in"), mustRoot(t, `C:\data\in`)
	long := strings.Repeat("/x", 100_000)
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		posix.holds("/data/in/some/file.txt")
		posix.holds("/data/../file.txt")
		posix.holds("/data/in" + "")
		posix.holds(long)
		win.holds(`c:\DATA/in\file.txt`)
		win.holds(`D:\é\x~1`)
	}))
}
