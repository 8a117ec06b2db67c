package fuzz

import (
	"math/rand/v2"
)

// Gen makes cases, either from a seed or from the bytes of a fuzz target: equal input, equal cases. It draws from small
// pools, so that hits are frequent and collisions of every kind occur.
//
// From bytes, the choices after the last byte are all the first one, which is always the simplest.
type Gen struct {
	data []byte
	rng  *rand.Rand

	// Valid leaves out whatever a filter or a policy is refused for.
	Valid bool
}

// FromSeed returns a generator of random cases.
func FromSeed(seed uint64) *Gen { return &Gen{rng: rand.New(rand.NewPCG(seed, 7))} }

// FromBytes returns a generator whose choices are the bytes.
func FromBytes(data []byte) *Gen { return &Gen{data: data} }

// Intn returns a number from 0 to n-1.
func (g *Gen) Intn(n int) int {
	switch {
	case g.rng != nil:
		return g.rng.IntN(n)
	case len(g.data) == 0:
		return 0
	}
	c := int(g.data[0])
	g.data = g.data[1:]
	if n > 256 && len(g.data) > 0 {
		c = c<<8 | int(g.data[0])
		g.data = g.data[1:]
	}
	return c % n
}

// odds is true n times in a hundred.
func (g *Gen) odds(n int) bool { return g.Intn(100) >= 100-n }

func pick[T any](g *Gen, list []T) T { return list[g.Intn(len(list))] }

// some returns up to n of the list, in random order and possibly twice.
func somesOf[T any](g *Gen, n int, list []T) []T {
	var out []T
	for range g.Intn(n + 1) {
		out = append(out, pick(g, list))
	}
	return out
}

// pieces are what adversarial names are made of: letters that fold, that fold to several characters, that look as
// if they should fold and do not, what becomes '_', and what is no UTF-8.
var pieces = []string{
	"a", "A", "_", "-", ".", "/", "b", "é", "É", "İ", "i\u0307", "ſ", "s", "\u212a", "k", "Σ", "σ", "ς", "ß",
	"Ⱥ", "ⱥ", "Ꭰ", "ꭰ", "*", "\n", "\xff", "\xc3", "\xe2\x84", "\ufffd", " ",
}

// patternPieces are what adversarial patterns are made of: the pieces that a pattern may hold, and stars.
var patternPieces = []string{
	"a", "*", "A", "_", "-", ".", "b", "*", "é", "É", "İ", "i\u0307", "ſ", "s", "\u212a", "k", "Σ", "σ", "ς", "ß",
	"Ⱥ", "ⱥ", "Ꭰ", "ꭰ", "*", "\ufffd", "?", "[a]", "{a,b}", "\\",
}

// badPieces make a pattern be refused, in some places or in all.
var badPieces = []string{" ", "\u200b", ":", "\x01", "\xff", "\u00ad", "\u2028", "\u0085", "/", "//", "\ufeff", "\t"}

// servers are the ids that patterns, targets, taint and trust are about.
var servers = []string{"fs", "gh", "FS", "a", "A", "a_b", "a-b", "my.srv", "MY-SRV", "é", "É", "K", "\u212a", "mail", "docs"}

// badServers are ids that no server can have.
var badServers = []string{"", "a:b", "a/b", "*", "f*", "a b", "a\n", "\xff", "\u00a0", "repo:"}

var serverGlobs = []string{"*", "f*", "*s", "f*s", "A*", "*_*", "*-*", "m*l", "**", "*.*"}

// words are names of real catalogs, and what people do to them.
var words = []string{
	"read_file", "write_file", "delete_repo", "Delete-Repo", "DELETE.REPO", "delete_files", "get_issue", "get-issue",
	"create_issue", "createMonitor", "VPS_deleteProjectV1", "list-sharepoint-site-lists", "figma_delete_node",
	"db-cluster-delete-topic", "mail_deleteMailboxV1", "send", "search", "execute_sql", "read", "write", "x", "X",
	"resources_delete", "dir/read", "secret_delete", "get_team", "sql_db_delete", "workflow.delete", "",
}

// Name returns a name of a tool or a prompt: any bytes.
func (g *Gen) Name() string {
	switch {
	case g.odds(45):
		return pick(g, words)
	default:
		s := ""
		for range 1 + g.Intn(4) {
			s += pick(g, pieces)
		}
		return s
	}
}

// uris are what resources are called, and what rules about them are made of.
var uris = []string{
	"file:///data/a", "file:///data/a/b", "FILE:///Data/A", "file:///etc/passwd", "x://y", "", "x://a*", "x://a-b", "x://A_b",
	"repo://x", "/x", "a//b", "x://\u212a", "x://\xff", "x://a\nb",
}

// Server returns a server id, now and then one that no server can have.
func (g *Gen) Server() string {
	if g.odds(3) && !g.Valid {
		return pick(g, badServers)
	}
	return pick(g, servers)
}

// serverGlob returns the server segment of a pattern.
func (g *Gen) serverGlob() string {
	switch {
	case g.odds(40):
		return pick(g, serverGlobs)
	case g.odds(2) && !g.Valid:
		return pick(g, badServers)
	default:
		return pick(g, servers)
	}
}

// nameGlob returns the second segment of a pattern.
func (g *Gen) nameGlob(from []string) string {
	switch {
	case g.odds(15):
		return "*"
	case g.odds(45):
		return g.starred(pick(g, from))
	default:
		s := ""
		for range 1 + g.Intn(4) {
			s += pick(g, patternPieces)
		}
		if g.odds(2) && !g.Valid {
			s += pick(g, badPieces) + pick(g, patternPieces)
		}
		return s
	}
}

// starred puts stars in place of runs of a name.
func (g *Gen) starred(name string) string {
	for range g.Intn(3) {
		i := g.Intn(len(name) + 1)
		j := i + g.Intn(len(name)-i+1)
		name = name[:i] + "*" + name[j:]
	}
	return name
}

// Pattern returns a pattern of the kind. Where the generator is not restricted to valid ones a few are refused.
func (g *Gen) Pattern(kind Kind) string {
	for {
		p := g.pattern(kind)
		if !g.Valid || checkPattern(p) == nil {
			return p
		}
		if g.rng == nil && len(g.data) == 0 {
			return map[Kind]string{Tool: "*", Resource: "resource:*/*", Prompt: "prompt:*/*"}[kind]
		}
	}
}

func (g *Gen) pattern(kind Kind) string {
	if g.odds(1) && !g.Valid {
		return pick(g, []string{"", "/", "fs/", "/x", "fs//x", "resource:x", "prompt:x", "resource:repo://x", "a:b/c", "resource:", "prompt:/"})
	}
	switch kind {
	case Resource:
		return "resource:" + g.serverGlob() + "/" + g.nameGlob(uris)
	case Prompt:
		return "prompt:" + g.serverGlob() + "/" + g.nameGlob(words)
	}
	if g.odds(25) {
		return g.nameGlob(words)
	}
	return g.serverGlob() + "/" + g.nameGlob(words)
}

// regexps are what regexp rules and conditions are made of.
var regexps = []string{
	`\*`, `^\*$`, "a", "^delete_", "(?i)^DELETE", "x$", "^$", "a|b", "^(read|get)_", "[A-Z]", `\x{FFFD}`, `\n`, "(?s)^.$", "^.$", "é", "(?i)k",
	"[^a]", "^a.*b$", "_", "-", `\pL`, "", "(?i)ſ", "i\u0307", "[[:upper:]]{2}", "^write", `^file:`, "passwd$", `\.`, "(?m)^b$", "K", `\bread\b`,
	"^(delete_repo|x)$", "İ", `^[a-z_]+$`, `(?i)^[a-z]+$`, "/",
}

// Target returns a target of the kind. Some of the targets are made to fit one of the rules.
func (g *Gen) Target(kind Kind, rules ...Rule) Target {
	t := Target{Kind: kind, Server: g.Server(), Name: g.Name()}
	if kind == Resource && g.odds(70) {
		t.Name = pick(g, uris)
	}
	if len(rules) > 0 && g.odds(60) {
		g.fit(pick(g, rules), &t)
	}
	if kind == Tool {
		if g.odds(60) {
			t.Annotations = pick(g, annotations)
		}
		t.Fingerprint = pick(g, []string{"A", "", "B"})
		if t.Fingerprint == "" || g.odds(20) {
			t.Raw = pick(g, raws)
		}
	}
	return t
}

// fit makes the target one that the rule matches, or nearly.
func (g *Gen) fit(r Rule, t *Target) {
	switch r.Form {
	case All, Named:
		if len(r.Rules) > 0 {
			g.fit(pick(g, r.Rules), t)
		}
	case Regexp:
		if r.Kind == t.Kind {
			t.Server = g.filled(r.Server)
		}
	case Pattern:
		p := splitPattern(r.Text)
		if p.kind != t.Kind {
			return
		}
		t.Name = g.filled(p.name)
		if !p.bare {
			t.Server = g.filled(p.server)
		}
	}
}

// filled returns a name that a glob matches, or nearly: exactly, or loosely alone.
func (g *Gen) filled(glob string) string {
	s := ""
	for _, r := range glob {
		switch {
		case r == '*':
			for range g.Intn(3) {
				s += pick(g, pieces[:5])
			}
		case g.odds(15):
			s += g.disguised(r)
		default:
			s += string(r)
		}
	}
	return s
}

// disguised returns another character, which often has the same fold.
func (g *Gen) disguised(r rune) string {
	if r == '_' || r == '-' || r == '.' {
		return pick(g, []string{"_", "-", ".", "a"})
	}
	for _, p := range pieces[g.Intn(len(pieces)):] {
		if Fold(p) == Fold(string(r)) {
			return p
		}
	}
	if 'a' <= r && r <= 'z' {
		return string(r - 'a' + 'A')
	}
	return string(r)
}

// annotations are what servers say.
var annotations = []string{
	`{}`, `{"readOnlyHint": true}`, `{"readOnlyHint": false}`, `{"destructiveHint": false}`, `{"destructiveHint": true}`,
	`{"openWorldHint": false}`, `{"openWorldHint": true}`, `{"idempotentHint": true}`, `{"idempotentHint": false}`,
	`{"readOnlyHint": true, "destructiveHint": true, "title": "T"}`, `{"readOnlyHint": "true"}`, `{"destructiveHint": "yes"}`,
	`{"destructiveHint": null}`, `{"openWorldHint": 0}`, `{"ReadOnlyHint": true}`, `{"readonlyhint": true}`, `null`, `[]`, `"readOnlyHint"`,
	`{"readOnlyHint": true, "readOnlyHint": false}`, `{"readOnlyHint": true`, `{"destructiveHint": [false], "idempotentHint": true}`,
}

// raws are definitions. All but the last ones have a fingerprint; several share one.
var raws = []string{
	`{"name":"x"}`, `{ "name" : "x" }`, `{"n\u0061me":"\u0078"}`, `{"name":"x","v":1}`, `{"v":1.0,"name":"x"}`, `{"v":10e-1, "name":"x"}`,
	`{"name":"x","v":"1"}`, `{"name":"x","inputSchema":{"a":[1,2,{"b":null}]}}`, `{"name":"x","inputSchema":{"a":[2,1,{"b":null}]}}`,
	`{"inputSchema":{"a":[1.00,2,{"b":null}]},"name":"x"}`, `{"x":0.1}`, `{"x":-0}`, `{"x":0}`, `{"x":"é"}`, `{"x":"e\u0301"}`, `{"x":"\ud83d\ude00"}`,
	`{"x":"😀"}`, `{}`, `{"x":9007199254740992}`, `{"x":9.007199254740992E15}`,
	// Without a fingerprint from here on.
	`{"a":1,"a":2}`, `{"x":9007199254740993}`, `{"x":1e400}`, `{"x":"\ud800"}`, "{\"x\":\"\xff\"}", `{`, `{} {}`, `{"a":{"b":1,"b":1}}`, `{"x":1e-400}`,
}

// goodRaws is the number of definitions with a fingerprint.
const goodRaws = 20

// Request returns what the caller of the engine knows.
func (g *Gen) Request(t Target) Request {
	q := Request{HasApprover: g.odds(50)}
	if g.odds(75) {
		q.Approved = g.approvals(t)
	}
	if g.odds(60) {
		q.Taint = []string{}
		for range g.Intn(3) {
			q.Taint = append(q.Taint, pick(g, []string{t.Server, "docs", "fs", "web", "FS", "mail"}))
		}
	}
	if g.odds(80) {
		q.Args = g.object()
	}
	if g.odds(60) {
		q.Attributes = g.object()
		if g.odds(40) {
			q.Attributes["hide"] = pick(g, []any{true, false, "true", nil})
		}
	}
	return q
}

func (g *Gen) approvals(t Target) []Approval {
	list := []Approval{}
	if g.odds(80) {
		a := Approval{Server: t.Server, Name: t.Name}
		switch g.Intn(6) {
		case 0, 1:
			a.Fingerprint = t.Fingerprint
			if _, err := Fingerprint(t.Raw); t.Fingerprint == "" && err == nil {
				a.Of = t.Raw
			}
		case 2:
			a.Fingerprint = pick(g, []string{"A", "B"})
		case 3:
			a.Fingerprint = "" // an entry that is there and empty
		default:
			a.Of = pick(g, raws[:goodRaws])
		}
		list = append(list, a)
	}
	if g.odds(30) { // of nearly the same tool
		list = append(list, Approval{Server: Fold(t.Server), Name: t.Name + "_", Fingerprint: "A"})
	}
	return list
}
