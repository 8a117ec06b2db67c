package automaton

// This file folds, and decides whether a string is its own fold, which most names of tools are.
//
// Package fold looks at one byte at a time. Here eight bytes are looked at together; a string with a byte
// beyond ASCII is left to package fold, which owns the definition.

import (
	"encoding/binary"
	"unsafe"

	"github.com/penstock-mcp/penstock/fold"
)

// maxStackName is the longest fold that needs no allocation. MCP asks for names of at most 128 bytes.
const maxStackName = 256

// changes returns words with the top bit of every byte set that is an upper-case letter, and that is '-'
// or '.': the bytes that fold changes. All bytes must be ASCII, so no sum carries into the next byte.
func changes(w uint64) (upper, dash uint64) {
	upper = (w + (0x80-'A')*ones) &^ (w + (0x80-'Z'-1)*ones)
	dash = (w + (0x80-'-')*ones) &^ (w + (0x80-'.'-1)*ones)
	return upper & tops, dash & tops
}

// isFolded reports whether s is its own fold.
func isFolded(s string) bool {
	n := len(s)
	if n < 8 {
		var w uint64
		for i := range n {
			w = w<<8 | uint64(s[i])
		}
		if w&tops != 0 {
			return fold.Is(s)
		}
		upper, dash := changes(w)
		return upper|dash == 0
	}
	var bad uint64
	for i := 0; i < n-8; i += 8 {
		w := load8(s, i)
		if w&tops != 0 {
			return fold.Is(s)
		}
		upper, dash := changes(w)
		bad |= upper | dash
	}
	w := load8(s, n-8)
	if w&tops != 0 {
		return fold.Is(s)
	}
	upper, dash := changes(w)
	return bad|upper|dash == 0
}

// foldWord returns the fold of eight ASCII bytes.
func foldWord(w uint64) uint64 {
	upper, dash := changes(w)
	dash = dash >> 7 * 0xff
	return (w+upper>>2)&^dash | '_'*ones&dash
}

// foldASCII writes the fold of s to dst, which is at least as long. It reports false, having written
// something or nothing, if s is not ASCII.
func foldASCII(dst []byte, s string) bool {
	n := len(s)
	if n < 8 {
		var w uint64
		for i := range n {
			w |= uint64(s[i]) << (8 * i)
		}
		if w&tops != 0 {
			return false
		}
		w = foldWord(w)
		for i := range n {
			dst[i] = byte(w >> (8 * i))
		}
		return true
	}
	for i := 0; ; i += 8 {
		i = min(i, n-8)
		w := load8(s, i)
		if w&tops != 0 {
			return false
		}
		binary.LittleEndian.PutUint64(dst[i:], foldWord(w))
		if i == n-8 {
			return true
		}
	}
}

// loose returns s folded. The result lies in buf or, if it does not fit, on the heap.
//
// Safety: the string shares the memory of the slice that was appended to. Nothing writes to that memory
// while the string is used: every caller's buf is its own, used once, and the string goes to functions that do not
// keep it (the compiler would move buf to the heap if one did, and the tests count allocations).
func loose(buf []byte, s string) string {
	if len(s) > cap(buf) {
		return fold.String(s)
	}
	buf = buf[:cap(buf)]
	if foldASCII(buf, s) {
		return unsafe.String(unsafe.SliceData(buf), len(s))
	}
	b := fold.Append(buf[:0], s)
	return unsafe.String(unsafe.SliceData(b), len(b))
}
