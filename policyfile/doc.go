// Package policyfile reads policies: documents in YAML or JSON that say what a filter shows and what a policy
// decides. It checks them completely and strictly, and reports everything that is wrong with the file, the line
// and the column.
//
//	doc, err := policyfile.Load("penstock.yaml", policyfile.Options{})
//	if err != nil {
//		return err // penstock.yaml:22:5: policy.allow[0]: unknown key "annotations" (did you mean "annotation"?)
//	}
//	filter, policy, err := doc.Compile()
//
// The same document means the same in both notations. Input whose first character is '{' and that is JSON is
// read as JSON; everything else as YAML. A file named *.json must be JSON.
//
// Of YAML only what JSON can say is taken: no anchors, aliases, merge keys, tags, directives and second documents.
// Plain scalars follow the core schema of YAML 1.2, in JSON's spelling: null, true, false and decimal numbers
// are what they look like; Null, ~, True, 0x10, 1_000, .inf and the like are refused, since readers of YAML
// do not agree on them; anything else is a string, yes and no and dates too.
//
// The package also reads the request objects that the command line takes: see [DecodeRequest].
package policyfile
