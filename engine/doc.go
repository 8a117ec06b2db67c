// Package engine decides what an MCP client may see and call: the public API of Penstock.
//
// A hub sits between AI agents and many MCP servers. For each caller it has two questions, on every list and every
// call:
//
//   - Visibility. A [Filter] says which tools the caller sees at all. Exclude always wins, and a hidden tool
//     is as good as not there.
//   - Authorization. A [Policy] says whether a call may run: [Allow], [Ask] a human, or [Deny]. The order
//     is fixed: deny > pin > ask > allow > default.
//
// What is decided is written down, sentence by sentence, in docs/semantics.md.
//
// # Two ways to use it
//
// [Filter.Visible] and [Policy.Evaluate] answer for any tool, with no state. An [Engine] holds the tool lists of the
// servers behind a hub and computes at refresh whatever does not depend on the call, so that a decision about a tool
// it knows is a look-up. Both give the same answers.
//
// # Failing closed
//
// The zero [Action] is Deny. Nil filters hide everything and nil policies deny everything. A predicate that panics or
// returns an error counts against the call. Tools that cannot be what was approved are asked about or denied. Bad
// rules are refused when compiled, all of them in one error, and the last good state stays.
package engine
