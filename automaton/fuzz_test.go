package automaton

import (
	"regexp"
	"strings"
	"testing"
)

// decode makes patterns, servers and names from fuzz input: lines, of which those beginning with '=' are
// servers and names to ask for, those with '~' regexps, and all others patterns; a tab separates server and name.
func decode(data string) (patterns []Pattern, asks []target) {
	for line := range strings.SplitSeq(data, "\n") {
		kind, rest := byte(0), line
		if line != "" && (line[0] == '=' || line[0] == '~') {
			kind, rest = line[0], line[1:]
		}
		server, name, ok := strings.Cut(rest, "\t")
		if !ok {
			server, name = "*", rest
		}
		switch kind {
		case '=':
			asks = append(asks, target{server, name})
		case '~':
			if re, err := regexp.Compile(name); err == nil {
				patterns = append(patterns, Pattern{Server: server, Re: re})
			}
		default:
			patterns = append(patterns, Pattern{Server: server, Name: name})
		}
	}
	return patterns, asks
}

func FuzzIndex(f *testing.F) {
	for _, s := range []string{
		"fs\tread_*\n*\t*delete*\n=fs\tread_x\n=FS\tDelete-It",
		"a*\tx*y*z\na*b\t*xyz*\n=ab\txyz\n=aab\txaybz",
		"~*\t(?i)s\n~b\t^a.b$\n=b\tſ\n=b\ta\xffb",
		"*\t*\xff*\n*\t\xe2\x84*\xaa\n=s\t\u212a\n=s\t\xff",
		"*\t*abcdefghijklmnopqrstuvwxyz*\n=s\tabcdefghijklmnopqrstuvwxyz\n=s\tABCDEFGHIJKLMNOPQRSTUVWXYZ",
		"*\ta*a*a*a*b\n=s\taaaaaaaaaaaaaaaaaaaaaaa\n=s\taaaaaaab",
		"İ\tİ*\n=i̇\tİx\n*\tȺ\n=s\tⱥ",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if len(data) > 3000 {
			return
		}
		patterns, asks := decode(data)
		for _, p := range patterns { // what the patterns say literally is worth asking, too
			if len(asks) < 40 {
				asks = append(asks, target{strings.ReplaceAll(p.Server, "*", "a"), strings.ReplaceAll(p.Name, "*", "B")},
					target{p.Server, strings.ToUpper(p.Name)})
			}
		}
		for _, mode := range []Mode{Exact, Folded} {
			x := Build(mode, patterns)
			for _, a := range asks {
				agree(t, x, mode, patterns, a.server, a.name)
			}
		}
	})
}
