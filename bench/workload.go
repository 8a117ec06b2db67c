package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-mcp/penstock/fold"
)

// Name is one tool of one server.
type Name struct{ Server, Tool string }

// Shape is how a rule is written.
type Shape uint8

// The shapes, in the order of their shares.
const (
	Literal      Shape = iota // server/tool
	ServerPrefix              // server/get_*
	AnyPrefix                 // */delete_*
	Infix                     // */*secret*
)

// shares are the parts of a workload in percent.
var shares = [...]int{Literal: 60, ServerPrefix: 20, AnyPrefix: 10, Infix: 10}

// Rule is one pattern as plain data.
type Rule struct {
	Shape  Shape
	Server string // "*" for any server
	Text   string // the tool segment without its stars

	// When is what else has to hold, for the dynamic rules of a workload.
	When When
}

// Tool returns the tool segment of the pattern.
func (r Rule) Tool() string {
	switch r.Shape {
	case Literal:
		return r.Text
	case Infix:
		return "*" + r.Text + "*"
	default:
		return r.Text + "*"
	}
}

// Pattern returns the pattern as a policy writes it.
func (r Rule) Pattern() string { return r.Server + "/" + r.Tool() }

// When is the condition of a dynamic rule.
type When uint8

// The conditions.
const (
	Always     When = iota // a static rule
	OnCall                 // a function: the caller's attribute on_call is true
	PathInEtc              // a function of the arguments: path begins with /etc/
	ModeWrites             // a declared condition: the argument mode is write or admin
	IsTainted              // the taint set holds another server
	whens
)

// Size is how large a workload is.
type Size struct {
	Rules   int
	Tools   int // known ones, and as many unseen
	Servers int
	Dynamic int // dynamic rules, beside the static ones
}

// Workload is rules and names, made from its Size alone: the same everywhere and always.
//
// Of the rules 60 % are literals, 20 % a prefix on one server, 10 % a prefix on any server and 10 % an infix on any
// server. What a rule is about decides its list, as an author would have it: of rules about reading verbs most are
// allow, of those about writing ask, of those about destroying deny; infixes are two fifths deny and three tenths each
// ask and allow. Of the literals half name a known tool and a quarter one of the unseen names while there are any
// without a rule; the others name tools that are not there. At most 100 server prefixes, 10 prefixes and 20 infixes
// are general (`github/get_*`, `*/delete_*`, `*/*secret*`), like those a person writes; beyond that they are specific
// (`github/get_user_r*`, `*/*issue_label*`), as a policy of many rules can only be. Deny, ask and exclude rules
// are spelled in another way than the tool in one case of eight, which they must see through; allow and include rules
// in one of sixteen, which they must not.
type Workload struct {
	Size Size

	Servers []string
	Known   []Name // server by server, in the server's own order
	Unseen  []Name // names of the same kind on the same servers, none of them known
	Order   []int  // a random order of 0 to Size.Tools-1, for both

	Deny, Ask, Allow []Rule
	Include, Exclude []Rule // a filter of Size.Rules rules of the same mix
}

// New makes a workload. It panics if there are more servers than tools.
func New(size Size) *Workload {
	w := &Workload{Size: size}
	g := newNamer(1, size.Servers)
	w.Servers = g.ids()
	w.Known = g.names(size.Tools)
	w.Unseen = g.names(size.Tools)
	w.Order = rand.New(rand.NewPCG(2, uint64(size.Tools))).Perm(size.Tools)

	a := newAuthor(3, g, w.Known, w.Unseen, "delete create get update remove list send execute search drop")
	for _, r := range a.rules(size.Rules) {
		to := [...]*[]Rule{&w.Deny, &w.Ask, &w.Allow}[a.list(r)]
		*to = append(*to, a.spell(r, to != &w.Allow))
	}
	a = newAuthor(4, g, w.Known, w.Unseen, "get delete list update search remove read send find execute")
	for i, r := range a.rules(size.Rules) {
		switch c := a.class(r); {
		case c == destroying, c == writing && i%2 == 0, r.Shape == Infix && i%2 == 0:
			w.Exclude = append(w.Exclude, a.spell(r, true))
		default:
			w.Include = append(w.Include, a.spell(r, false))
		}
	}
	w.addDynamic(a, size.Dynamic)
	return w
}

// addDynamic adds n dynamic rules at random places: prefixes and a few that are about every tool, in all lists alike,
// with every condition in turn.
func (w *Workload) addDynamic(a *author, n int) {
	for i := range n {
		r := a.draw(ServerPrefix, i%4 != 3)
		if i%16 == 15 {
			r = Rule{Shape: AnyPrefix, Server: "*"}
		}
		r.When = When(1 + i%(int(whens)-1))
		to := [...]*[]Rule{&w.Deny, &w.Ask, &w.Allow}[a.rng.IntN(3)]
		*to = slices.Insert(*to, a.rng.IntN(len(*to)+1), r)
	}
}

// namer makes the names of servers and tools.
type namer struct {
	rng     *rand.Rand
	servers []server
	used    map[Name]bool // folded
}

// server is one server and how its tools are named.
type server struct {
	id     string
	style  style
	prefix string // a word before every verb, or ""
}

// style is how the words of a name are joined.
type style uint8

const (
	snake style = iota
	kebab
	camel
	mixed // any of them
)

// styles are the styles of ten servers in turn: the shares of the real catalogs.
var styles = [10]style{snake, snake, kebab, snake, snake, mixed, snake, camel, kebab, snake}

func newNamer(seed uint64, servers int) *namer {
	g := &namer{rng: rand.New(rand.NewPCG(seed, uint64(servers))), used: make(map[Name]bool)}
	for i := range servers {
		s := server{id: vendors[i%len(vendors)], style: styles[i%len(styles)]}
		if n := i / len(vendors); n > 0 {
			s.id += "-" + strconv.Itoa(n+1)
		}
		if i%5 == 4 {
			s.prefix, _, _ = strings.Cut(vendors[i%len(vendors)], "-")
		}
		g.servers = append(g.servers, s)
	}
	return g
}

func (g *namer) ids() []string {
	ids := make([]string, len(g.servers))
	for i, s := range g.servers {
		ids[i] = s.id
	}
	return ids
}

// names makes n names that were not there before, spread evenly over the servers.
func (g *namer) names(n int) []Name {
	out := make([]Name, 0, n)
	for i := range g.servers {
		for range (i+1)*n/len(g.servers) - i*n/len(g.servers) {
			out = append(out, g.name(&g.servers[i]))
		}
	}
	return out
}

// name makes one name that was not there before, also not in another spelling.
func (g *namer) name(s *server) Name {
	for tries := 0; ; tries++ {
		words := []string{g.verb(), pick(g.rng, nouns)}
		if g.rng.IntN(5) < 3 || tries > 20 {
			words = append(words, pick(g.rng, nouns))
		}
		if g.rng.IntN(6) == 0 || tries > 40 {
			words = append(words, pick(g.rng, tails))
		}
		n := Name{s.id, s.join(g.rng, words)}
		folded := Name{fold.String(n.Server), fold.String(n.Tool)}
		if !g.used[folded] {
			g.used[folded] = true
			return n
		}
	}
}

// verb draws a verb: half are for reading, a third for writing.
func (g *namer) verb() string {
	c := [6]class{reading, reading, reading, writing, writing, destroying}[g.rng.IntN(6)]
	return pick(g.rng, verbs[c])
}

// join spells words in the style of the server.
func (s *server) join(rng *rand.Rand, words []string) string {
	if s.prefix != "" {
		words = append([]string{s.prefix}, words...)
	}
	how := s.style
	if how == mixed {
		how = style(rng.IntN(int(mixed)))
	}
	switch how {
	case kebab:
		return strings.ReplaceAll(strings.Join(words, "-"), "_", "-")
	case camel:
		var b strings.Builder
		for i, w := range strings.Split(strings.Join(words, "_"), "_") {
			if i > 0 {
				w = strings.ToUpper(w[:1]) + w[1:]
			}
			b.WriteString(w)
		}
		return b.String()
	default:
		return strings.Join(words, "_")
	}
}

func pick(rng *rand.Rand, words []string) string { return words[rng.IntN(len(words))] }

// String says how large the workload is.
func (s Size) String() string {
	text := fmt.Sprintf("%d rules, %d tools, %d servers", s.Rules, s.Tools, s.Servers)
	if s.Dynamic > 0 {
		text += fmt.Sprintf(", %d dynamic rules", s.Dynamic)
	}
	return text
}
