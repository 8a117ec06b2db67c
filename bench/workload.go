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

// author writes rules.
type author struct {
	rng     *rand.Rand
	g       *namer
	used    map[Rule]bool
	targets [2][]Name // known and unseen names without a literal rule, in random order
	general [4]int    // how many general rules of each shape may still be written
	anyVerb []string  // the verbs of general prefixes on any server, in the order they are written
}

func newAuthor(seed uint64, g *namer, known, unseen []Name, anyVerb string) *author {
	a := &author{rng: rand.New(rand.NewPCG(seed, 0)), g: g, used: make(map[Rule]bool),
		targets: [2][]Name{slices.Clone(known), slices.Clone(unseen)},
		anyVerb: strings.Fields(anyVerb)}
	a.general = [4]int{ServerPrefix: 100, AnyPrefix: len(a.anyVerb), Infix: 20}
	for _, t := range a.targets {
		a.rng.Shuffle(len(t), func(i, j int) { t[i], t[j] = t[j], t[i] })
	}
	return a
}

// rules writes n different rules in random order.
func (a *author) rules(n int) []Rule {
	out := make([]Rule, 0, n)
	for shape, percent := range shares {
		many := n * percent / 100
		if Shape(shape) == Infix {
			many = n - len(out)
		}
		for range many {
			general := a.general[shape] > 0
			if general {
				a.general[shape]--
			}
			out = append(out, a.draw(Shape(shape), general))
		}
	}
	a.rng.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// draw writes one rule that was not there before.
func (a *author) draw(shape Shape, general bool) Rule {
	for tries := 0; ; tries++ {
		r := a.try(shape, general && tries < 50, tries/10)
		if !a.used[r] {
			a.used[r] = true
			return r
		}
	}
}

// try writes one rule; more adds words to a specific one.
func (a *author) try(shape Shape, general bool, more int) Rule {
	s := &a.g.servers[a.rng.IntN(len(a.g.servers))]
	switch shape {
	case Literal:
		return a.literal(s)
	case ServerPrefix:
		return Rule{Shape: shape, Server: s.id, Text: a.prefix(s, general, more)}
	case AnyPrefix:
		if general {
			verb := a.anyVerb[0]
			a.anyVerb = a.anyVerb[1:]
			return Rule{Shape: shape, Server: "*", Text: verb + "_"}
		}
		return Rule{Shape: shape, Server: "*", Text: a.prefix(&server{}, false, more)}
	default:
		if general {
			return Rule{Shape: shape, Server: "*", Text: pick(a.rng, sensitive)}
		}
		words := []string{pick(a.rng, nouns), pick(a.rng, nouns)}
		for range more {
			words = append(words, pick(a.rng, tails))
		}
		return Rule{Shape: shape, Server: "*", Text: strings.Join(words, "_")}
	}
}

func (a *author) literal(s *server) Rule {
	which := [4]int{0, 0, 1, 2}[a.rng.IntN(4)]
	if which < 2 {
		if t := a.targets[which]; len(t) > 0 {
			n := t[len(t)-1]
			a.targets[which] = t[:len(t)-1]
			return Rule{Shape: Literal, Server: n.Server, Text: n.Tool}
		}
	}
	n := a.g.name(s)
	return Rule{Shape: Literal, Server: n.Server, Text: n.Tool}
}

// prefix writes a prefix in the style of the server: its verb, or a verb, a noun and the beginning of another.
func (a *author) prefix(s *server, general bool, more int) string {
	const end = "x" // stands for what follows, so that the words before it are joined to it
	words := []string{a.g.verb()}
	if !general {
		words = append(words, pick(a.rng, nouns))
		for range more {
			words = append(words, pick(a.rng, nouns))
		}
	}
	text := s.join(a.rng, append(words, end))
	text = strings.TrimSuffix(strings.TrimSuffix(text, end), strings.ToUpper(end))
	if !general && a.rng.IntN(2) == 0 {
		text += pick(a.rng, nouns)[:1]
	}
	return text
}

// class guesses what the tools of a rule do, as its author would.
func (a *author) class(r Rule) class {
	folded := fold.String(r.Text)
	for c := range verbs {
		for _, v := range verbs[c] {
			if strings.HasPrefix(folded, v) || strings.Contains(folded, "_"+v) {
				return class(c)
			}
		}
	}
	return reading
}

// list says which list a rule goes to: 0 deny, 1 ask, 2 allow.
func (a *author) list(r Rule) int {
	chances := [...][2]int{reading: {5, 20}, writing: {15, 75}, destroying: {70, 100}}[a.class(r)]
	if r.Shape == Infix {
		chances = [2]int{40, 70}
	}
	switch n := a.rng.IntN(100); {
	case n < chances[0]:
		return 0
	case n < chances[1]:
		return 1
	default:
		return 2
	}
}

// spell writes a rule in another spelling now and then.
func (a *author) spell(r Rule, loose bool) Rule {
	if odds := map[bool]int{true: 8, false: 16}[loose]; a.rng.IntN(odds) > 0 {
		return r
	}
	switch a.rng.IntN(3) {
	case 0:
		r.Text = strings.NewReplacer("_", "-", "-", "_").Replace(r.Text)
	case 1:
		r.Text = strings.ToUpper(r.Text)
	default:
		r.Server = strings.NewReplacer("-", "_").Replace(strings.ToUpper(r.Server[:1]) + r.Server[1:])
	}
	return r
}

// String says how large the workload is.
func (s Size) String() string {
	text := fmt.Sprintf("%d rules, %d tools, %d servers", s.Rules, s.Tools, s.Servers)
	if s.Dynamic > 0 {
		text += fmt.Sprintf(", %d dynamic rules", s.Dynamic)
	}
	return text
}
