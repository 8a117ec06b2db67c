package lint

// This file finds what a name that matches nothing was probably meant to be.
//
// Naive: the distance from each such name to every live one, which for 10,000 of each takes minutes. Instead, every
// live name is filed under itself and under each form of it that lacks one character; two names one edit apart share
// such a form.

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock-mcp/penstock/automaton"
)

// nearNames finds live names by their fold and by what is one edit away.
type nearNames struct {
	subjects []subject
	byFold   map[string][]int32
	twins    map[string][]int32 // of byFold: those that have a sibling on their server
	lacking  map[string][]int32 // made when first asked for
}

func newNearNames(subjects []subject) *nearNames {
	n := &nearNames{subjects: subjects, byFold: make(map[string][]int32, len(subjects)),
		twins: make(map[string][]int32)}
	for i := range subjects {
		n.byFold[subjects[i].foldName] = append(n.byFold[subjects[i].foldName], int32(i))
	}
	type key struct{ server, name string }
	seen := make(map[key][]int32, len(subjects))
	for i := range subjects {
		s := &subjects[i]
		k := key{s.foldServer, s.foldName}
		if same := seen[k]; !slices.ContainsFunc(same, func(o int32) bool { return subjects[o].Target == s.Target }) {
			seen[k] = append(same, int32(i))
		}
	}
	for i := range subjects { // in their order
		s := &subjects[i]
		if same := seen[key{s.foldServer, s.foldName}]; len(same) > 1 && slices.Contains(same, int32(i)) {
			n.twins[s.foldName] = append(n.twins[s.foldName], int32(i))
		}
	}
	return n
}

// maxNear is the longest name that is looked at: the longest real one has 57 characters.
const maxNear = 100

// shorter calls yield for s and for each form of it that lacks one character.
func shorter(s string, yield func(string)) {
	yield(s)
	if len(s) > maxNear || len(s) < 4 { // every short name is near every other
		return
	}
	for i := 0; i < len(s); {
		_, n := utf8.DecodeRuneInString(s[i:])
		yield(s[:i] + s[i+n:])
		i += n
	}
}

// like returns up to three targets, quoted as patterns, that the pattern g of r may have been meant for: the same
// name on another server, or a name one edit away on its own.
func (n *nearNames) like(g *glob, r *rule) []string {
	if strings.Contains(g.name, "*") {
		return nil
	}
	var means []string
	add := func(i int32) bool {
		s := &n.subjects[i]
		text := quote(s.Server + "/" + s.Name)
		for _, m := range means {
			if m == text {
				return true
			}
		}
		means = append(means, text)
		return len(means) < 3
	}
	if n.lacking == nil {
		n.lacking = make(map[string][]int32)
		for i := range n.subjects {
			shorter(n.subjects[i].foldName, func(s string) {
				if of := n.lacking[s]; len(of) < 64 {
					n.lacking[s] = append(of, int32(i))
				}
			})
		}
	}
	shorter(g.foldName, func(s string) {
		for _, i := range n.lacking[s] {
			o := &n.subjects[i]
			if automaton.Match(g.foldServer, o.foldServer) && distance(g.foldName, o.foldName, 2) <= 2 && len(means) < 3 {
				add(i)
			}
		}
	})
	if len(means) == 0 {
		for _, i := range n.byFold[g.foldName] {
			if !add(i) {
				break
			}
		}
	}
	return means
}
