// Package lint says what is likely to be wrong with a policy, before it bites: rules that never act, rules that take
// more than they seem to, options whose consequences surprise, and tools whose names or hints are not what they look
// like.
//
//	report, err := lint.Run(lint.Input{Document: doc, Servers: servers})
//	for _, f := range report.Findings {
//		fmt.Println(f.Position, f.Severity, f.Code.ID, f.Message, f.Write)
//	}
//
// Every finding has a stable [Code], a place, what happens and what to write instead. A policy can be looked at alone or
// together with the tools of real servers; some findings need them. All findings are described in docs/lint.md.
//
// # What is proven and what is guessed
//
// That a rule contains another one is decided exactly for globs and soundly for everything else: what is reported as
// contained is contained; of regular expressions not every case is found. What is said about the given catalogs is a
// fact about them. What a name means ("this deletes something") is guessed from its words, and the finding says so.
package lint
