package automaton

// This file decides whether one segment glob takes everything that another one takes.
//
// The general way is to build the product of two automata. Here one look is enough: write a letter that
// neither glob holds in place of each star of the inner one. The result is a string that inner matches, so outer
// must match it, too. And if outer does, the new letters lie under stars of outer, since no piece of outer holds them; so
// whatever stands in their place, outer matches. The star itself is such a letter: no piece of a glob holds one.
//
//	outer get_*  inner get_*_url    get_* matches "get_*_url": contained
//	outer *a*b   inner *ab*         the text "*ab*" does not end in b: not contained ("abx")
//
// The same holds for an [Index]: asked about the text of a pattern as if it were a name, it finds the globs that
// contain the pattern, and only those. Of regexps that finds all that could, since the text is a name, too, and
// perhaps others.

// Contains reports whether the segment glob outer matches everything that inner matches.
//
// For globs that are to compare folded, give the folds.
//
// Cost: that of [Match].
func Contains(outer, inner string) bool { return Match(outer, inner) }
