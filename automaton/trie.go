package automaton

// This file is the index of prefixes `a*` and suffixes `*a`: radix tries, one for each scope that has any.
//
// Naive: compare the name with every prefix of its server. The trie walks the name once instead, whatever
// the number of prefixes. Every node also knows the least number over itself and the shorter prefixes on
// its path, so the first match is read off the deepest node reached. Price: a node is 17 bytes and its label.

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
)

// tries is a forest. Its nodes are numbered breadth first over all trees at once, the roots before all
// others, so the children of node i, its postings and its label end where those of node i+1 begin.
type tries struct {
	back  bool    // whether names are read from their end: the keys are suffixes
	nodes []node  // the nodes and a sentinel; empty if there is no tree
	first []byte  // first[i] is the first byte of the label of node i (0 for a root); 8 bytes of padding
	text  []byte  // the labels without their first byte, in reading order of the name (not reversed)
	posts []int32 // pattern numbers, ascending for each node
}

// node is one node of a trie.
type node struct {
	child uint32 // its first child; ascending by first byte
	label uint32 // where the rest of its label begins in text
	post  uint32 // where its own numbers begin in posts
	least int32  // the least number at it and at its ancestors; none if there is no number
}

// key is one prefix or (reversed) suffix while the tries are built.
type key struct {
	word  uint64 // the first 8 bytes, big endian, zero padded: decides most comparisons
	scope int32
	num   int32
	text  string // suffixes are reversed
}

// pack returns the first 8 bytes of s as a number that sorts as s does.
func pack(s string) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
}

func compareKeys(a, b key) int {
	switch {
	case a.scope != b.scope:
		return int(a.scope - b.scope)
	case a.word != b.word:
		if a.word < b.word {
			return -1
		}
		return 1
	}
	if c := strings.Compare(a.text, b.text); c != 0 {
		return c
	}
	return int(a.num - b.num)
}

// plan is what is known of a node between its creation and its turn: it covers keys[lo:hi], which share
// their first depth bytes.
type plan struct{ lo, hi, depth uint32 }

// newTries builds the tries of the keys, which it sorts. root(scope, i) is called for each tree.
//
// Cost: the sort, then one pass over the bytes of the keys and a binary search for each node.
func newTries(keys []key, back bool, root func(scope int32, node int32)) tries {
	t := tries{back: back}
	if len(keys) == 0 {
		return t
	}
	slices.SortFunc(keys, compareKeys)
	t.nodes = make([]node, 0, len(keys)*3/2+8)
	t.posts = make([]int32, 0, len(keys))
	plans := make([]plan, 0, len(keys)*3/2+8)
	for lo := 0; lo < len(keys); {
		scope := keys[lo].scope
		hi := lo + 1
		for hi < len(keys) && keys[hi].scope == scope {
			hi++
		}
		root(scope, int32(len(plans)))
		plans = append(plans, plan{uint32(lo), uint32(hi), 0})
		t.nodes = append(t.nodes, node{least: none})
		t.first = append(t.first, 0)
		lo = hi
	}
	for i := 0; i < len(plans); i++ {
		p := plans[i]
		n := &t.nodes[i]
		n.post = uint32(len(t.posts))
		n.child = uint32(len(plans))
		for p.lo < p.hi && uint32(len(keys[p.lo].text)) == p.depth {
			n.least = min(n.least, keys[p.lo].num)
			t.posts = append(t.posts, keys[p.lo].num)
			p.lo++
		}
		least := n.least
		for p.lo < p.hi {
			text := keys[p.lo].text
			end := groupEnd(keys, p)
			depth := p.depth + 1 + uint32(common(text[p.depth+1:], keys[end-1].text[p.depth+1:]))
			t.nodes = append(t.nodes, node{label: uint32(len(t.text)), least: least})
			t.first = append(t.first, text[p.depth])
			rest := text[p.depth+1 : depth]
			t.text = append(t.text, rest...)
			if back {
				slices.Reverse(t.text[len(t.text)-len(rest):])
			}
			plans = append(plans, plan{p.lo, end, depth})
			p.lo = end
		}
	}
	t.nodes = append(t.nodes, node{child: uint32(len(plans)), label: uint32(len(t.text)), post: uint32(len(t.posts))})
	t.nodes = slices.Clip(t.nodes)
	t.text = slices.Clip(t.text)
	t.first = slices.Clip(append(t.first, make([]byte, 8)...))
	return t
}

// groupEnd returns the end of the keys in p that have the same byte at its depth as the first one has.
// It doubles its step, so a long run and a short one are both cheap.
func groupEnd(keys []key, p plan) uint32 {
	c := keys[p.lo].text[p.depth]
	if keys[p.hi-1].text[p.depth] == c {
		return p.hi
	}
	lo, step := p.lo, uint32(1) // keys[lo] has c
	for lo+step < p.hi && keys[lo+step].text[p.depth] == c {
		lo, step = lo+step, step*2
	}
	hi := min(lo+step, p.hi-1) // keys[hi] has not
	for lo+1 < hi {
		if mid := (lo + hi) / 2; keys[mid].text[p.depth] == c {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// common returns the length of the longest common prefix of a and b.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// child returns the child of node i whose label begins with c, or 0, which is a root and nobody's child.
func (t *tries) child(i uint32, c byte) uint32 {
	lo, hi := t.nodes[i].child, t.nodes[i+1].child
	want := uint64(c) * ones
	for ; lo < hi; lo += 8 {
		x := binary.LittleEndian.Uint64(t.first[lo:]) ^ want
		if x = (x - ones) &^ x & tops; x != 0 {
			if lo += uint32(bits.TrailingZeros64(x)) / 8; lo < hi {
				return lo
			}
			return 0
		}
	}
	return 0
}

const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// step goes from node i down to the child that matches name, of which pos bytes are read. It returns 0
// if there is none.
func (t *tries) step(i uint32, name string, pos int) (uint32, int) {
	c := name[pos]
	if t.back {
		c = name[len(name)-1-pos]
	}
	j := t.child(i, c)
	if j == 0 {
		return 0, 0
	}
	label := t.text[t.nodes[j].label:t.nodes[j+1].label]
	if len(label) == 0 {
		return j, pos + 1
	}
	pos++
	end := pos + len(label)
	if end > len(name) {
		return 0, 0
	}
	part := name[pos:end]
	if t.back {
		part = name[len(name)-end : len(name)-pos]
	}
	if part != string(label) {
		return 0, 0
	}
	return j, end
}

// least returns the least number of the tree at root that matches name, or none.
func (t *tries) least(root int32, name string) int32 {
	i := uint32(root)
	for pos := 0; pos < len(name); {
		j, p := t.step(i, name, pos)
		if j == 0 {
			break
		}
		i, pos = j, p
	}
	return t.nodes[i].least
}

// appendAll appends the numbers of the tree at root that match name, each once, in no order.
func (t *tries) appendAll(dst []int32, root int32, name string) []int32 {
	i := uint32(root)
	for pos := 0; ; {
		dst = append(dst, t.posts[t.nodes[i].post:t.nodes[i+1].post]...)
		if pos == len(name) {
			return dst
		}
		if i, pos = t.step(i, name, pos); i == 0 {
			return dst
		}
	}
}
