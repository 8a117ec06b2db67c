package bench

// This file writes the rules of a workload: what the doc of Workload says of their mix is made here.

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/fold"
)

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
