// Package peers runs other engines on the workload of package bench: the same rules, the same names, the same answers,
// in the same process.
//
// It is a module of its own, since what it needs is large. Run it with
//
//	cd bench/peers && GOWORK=off go test -timeout 60m -bench .
//
// Each engine is used as its own documentation recommends for speed, in a file of its own that says how, and what the
// engine cannot express of our semantics. None of them knows of pins, of new tools or of predicates that fail closed; the
// workload has none of these, so that the answers can be compared. Where a deny rule has to see through another spelling,
// names are folded before an engine gets them: all but ours need that done for them. Which list decided is all an engine
// has to say here; ours names the rule, too.
package peers
