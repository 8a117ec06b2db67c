// Package fuzz holds the naive reference evaluator of the whole semantics, generators of cases, and the targets
// that hold the engine against the reference.
//
// The reference is the definition: it is written from the text of the contract, sentence by sentence, it is as
// plain and as slow as it can be, and it is never optimised. It shares no matching code with the packages it
// judges: its own fold, its own globs, its own decimals, its own paths, its own JSON. What it works on are the
// plain structs of define.go, which mirror the document form; convert.go turns them into values of package
// engine, encode.go into the text of a document, and [Case.Vector] into a line of a vector file, so that every
// case that fails can be printed, kept and run again.
//
//	bytes or a seed ──Gen──► Case ──Decide/Visible──────────────► Outcome ─┐
//	                           ├───Options──► engine ─────────────► Outcome ─┼─ must be equal
//	                           └───Document─► policyfile ► engine ► Outcome ─┘
//
// The section numbers in comments are those of docs/semantics.md.
package fuzz
