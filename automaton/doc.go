// Package automaton finds which of many patterns match a tool, without trying them one by one.
//
// A pattern is a pair of segment globs, one for the server and one for the tool's name, or a server glob and a
// regexp. '*' is any run of bytes and everything else is itself. [Build] makes an immutable [Index] of a list
// of patterns; [Index.First] gives the least number of one that matches and [Index.All] gives all of
// them. In mode [Folded] both sides are compared as package fold has them.
//
// Use [Match] for one glob and one string, and [CompileGlob] for one glob and many strings. An index of
// fewer than about ten patterns is not faster than a loop over compiled globs.
//
// # The naive version
//
//	for i, p := range patterns {
//		if Match(p.Server, server) && Match(p.Name, name) {
//			return i
//		}
//	}
//
// It is the definition, and what the tests compare with. It takes some 8 ns a pattern: nothing for ten, 84 µs for
// ten thousand, for every call and every list. All that follows exists to make that independent of the
// number of patterns. Each trick is useful without the next one.
//
// # 1. Servers become numbers (scope.go)
//
// The distinct server halves are numbered once, as scopes. A server resolves to the few scopes that apply
// to it: any server, itself, and the globs that match it. For a server that some pattern names, the list is ready
// made. The server globs are an index of their own, so ten thousand of them are not tried one by one either.
// Price: 4 bytes for each scope that applies to each named server, bounded at four for each pattern; past the bound the list is
// made at each call. [Index.Server] keeps it for many tools of one server.
//
// # 2. Names without a star become a table (literal.go)
//
// One hash of the name serves all scopes: each mixes its number in and makes one probe. A slot holds 32 bits of
// the hash, so a name that is not there is refused without a look at any key. The hash is seeded for each index, and
// keys are compared. Price: about 45 bytes a pattern.
//
// # 3. Prefixes and suffixes become tries (trie.go)
//
// a* and *a are walked down, from the front and from the back, one trie for each scope. Every node knows the least number
// on its path, so the first match is read off where the walk ends. Price: 17 bytes a node, about one and a half nodes for
// each pattern, and the bytes that neighbours do not share.
//
// # 4. Everything else becomes fragments (machine.go)
//
// What can stand anywhere, as in *a*, is found by one pass of a finite machine over the name, for all
// fragments together. The state after each byte is one load away. Every fragment knows the least number over itself
// and the fragments that are its tails, so reading a number off costs one comparison however many patterns there are.
//
//	*user*  *use*  *ser*       read u s e r:
//
//	    u ─ s ─ e* ─ r*        after "use" the machine is at use*: *use* matches
//	    s ─ e ─ r*             after "user" at user*, whose tail is ser*: *user* and *ser* match
//
// Price: the table. A state takes a row of 2 or 4 bytes for each byte value that occurs in any fragment. The rows get at
// most 8 MB; they go to the states nearest to the start, and the others are a list of edges and a state to fall
// back to. That is two to three times as slow for a byte that meets one, and the only thing that happens when the budget is
// met: answers do not change, and a step falls back at most 16 times.
//
// # 5. Globs with several stars, and long pieces, are checked afterwards (anchor.go, check.go)
//
// a*b*c matches only a name that holds a, b and c. It is filed under one of them: the one that the fewest
// patterns have. Where that fragment is seen, the glob is matched, in one pass without going back. Pieces are cut to
// 16 bytes, which bounds the states. Price: a check for each glob whose rarest piece is in the name, once for each name
// however often the piece occurs. Patterns of one scope are filed like this, too, and are sorted by scope and number, so that
// those of other servers cost nothing and [Index.First] stops where the numbers get too high.
//
// # 6. Regexps run only where they could match (relit.go)
//
// From each regexp a set of strings is taken of which a name must hold one; it is filed under fragments of
// those. A regexp for which there is no such set is tried last, and only if its number is lower than that of
// what was found; [Stats] counts those. Price: the extraction when the index is built, and care: package regexp's idea of a
// letter without case is wider than fold's, and an index that drops a match is a rule that never fires.
//
// # What bounds it
//
// Let n be the length of the name. Reading takes n steps, or 16 n where rows have run out. Checks take n for each candidate: a
// pattern of this server whose rarest piece is in the name. Nothing else depends on the number of patterns, and [Index.All] on
// what it finds. Sorting its answer is linear.
//
// Names of up to 256 bytes, once folded, live on the stack: no search allocates. Longer ones cost one allocation for
// their fold, and none if they are their own.
//
// # What was tried and is not here
//
//   - The machine before the table and the tries, to overlap its waiting with theirs: a third slower. The loop's
//     end is mispredicted, and what follows it starts late.
//   - Fewer rows (8 to 32 bytes for each pattern instead of all that fit): a tenth to half of the memory back, and
//     1.5 to 3 times as slow.
//   - Names as []byte: bytes.Index and its like make the compiler copy the name first.
//   - A walk of the tries written out for each direction: no difference.
//   - Sorting what All finds by comparison: ten times as slow for 388 numbers.
package automaton
