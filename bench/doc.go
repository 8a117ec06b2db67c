// Package bench holds the workload that everything here is measured on, the naive loop that says what its answers
// are, and the benchmarks, each beside a floor that is timed in the same process.
//
//	workload.go   rules, tools and names, from a seed: plain data that any engine can be fed with
//	catalogs.go   the same for the tool lists of real servers
//	options.go    the workload as the engine takes it
//	naive.go      the answers, by trying every rule: the oracle of the checks, and the floor x-naive
//	race.go       alternating rounds of ours and the floors
//	perfdoc/      the command that runs it all, holds it against its limits and writes docs/perf.md
//	peers/        other engines on the same workload, a module of its own
//
// A benchmark checks its answers before it times anything, and a wrong answer fails it. Ratios are medians over
// rounds in which ours and the floor take turns: what the machine does meanwhile it does to both.
package bench
