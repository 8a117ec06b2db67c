package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// FromCatalogs makes a workload of the tool lists of real servers: every `*.json` of a folder, named after its server.
// The rules have the same shares of shapes as those of [New], and are about what is there: literals name a tool,
// prefixes are the first words of one, infixes its last word. Reading tools are mostly allowed and deleting ones mostly
// denied. Of the tools, every other one is known and the rest are the unseen names.
func FromCatalogs(dir string, rules int) (*Workload, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no catalogs in %s: %w", dir, err)
	}
	w := &Workload{Size: Size{Rules: rules, Servers: len(files)}}
	var all []Name
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var list struct{ Tools []struct{ Name string } }
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		id := strings.TrimSuffix(filepath.Base(file), ".json")
		w.Servers = append(w.Servers, id)
		for _, t := range list.Tools {
			all = append(all, Name{id, t.Name})
		}
	}
	for i, n := range all[:len(all)&^1] {
		if i%2 == 0 {
			w.Known = append(w.Known, n)
		} else {
			w.Unseen = append(w.Unseen, n)
		}
	}
	w.Size.Tools = len(w.Known)
	rng := rand.New(rand.NewPCG(6, uint64(len(all))))
	w.Order = rng.Perm(w.Size.Tools)
	for shape, percent := range shares {
		for i := range rules * percent / 100 {
			w.addReal(rng, realRule(Shape(shape), all[rng.IntN(len(all))]), i)
		}
	}
	for _, l := range [...][]Rule{w.Deny, w.Ask, w.Allow, w.Include, w.Exclude} {
		rng.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
	}
	return w, nil
}

// realRule writes a rule of a shape about a tool.
func realRule(shape Shape, n Name) Rule {
	words := strings.FieldsFunc(n.Tool, func(r rune) bool { return r == '_' || r == '-' })
	switch first := len(words[0]); shape {
	case Literal:
		return Rule{Shape: shape, Server: n.Server, Text: n.Tool}
	case Infix:
		return Rule{Shape: shape, Server: "*", Text: words[len(words)-1]}
	case AnyPrefix:
		return Rule{Shape: shape, Server: "*", Text: n.Tool[:first]}
	default:
		return Rule{Shape: shape, Server: n.Server, Text: n.Tool[:first]}
	}
}

// addReal adds rule i of its shape to one list of the policy and one of the filter.
func (w *Workload) addReal(rng *rand.Rand, r Rule, i int) {
	class := (&author{}).class(r)
	to := &w.Allow
	switch n := rng.IntN(10); {
	case class == destroying && n < 7, r.Shape == Infix && n < 4:
		to = &w.Deny
	case class != reading && n < 9, r.Shape == Infix && n < 7:
		to = &w.Ask
	}
	*to = append(*to, r)
	if class == reading || i%3 == 0 {
		w.Include = append(w.Include, r)
	} else {
		w.Exclude = append(w.Exclude, r)
	}
}

// Rules returns the rules of one list of the policy.
func (w *Workload) Rules(l List) []Rule {
	return map[List][]Rule{Deny: w.Deny, Ask: w.Ask, Allow: w.Allow}[l]
}

// WithRule returns a copy of the workload in which rule i of a list is another one.
func (w *Workload) WithRule(l List, i int, r Rule) *Workload {
	c := *w
	list := map[List]*[]Rule{Deny: &c.Deny, Ask: &c.Ask, Allow: &c.Allow}[l]
	*list = slices.Clone(*list)
	(*list)[i] = r
	return &c
}
