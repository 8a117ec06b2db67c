package policyfile

import _ "embed"

//go:embed policy.schema.json
var schema string

// Schema returns the JSON Schema (2020-12) of the document, for editors and other tools. The caller may change it.
//
// Whatever [Parse] and [Document.Compile] accept is valid by the schema. The other way round it holds as far as a
// schema can say it: names of predicates, ids that stand twice, rules out of scope, regular expressions, roots
// of paths and the kinds of the members of all are left to Parse and Compile.
func Schema() []byte { return []byte(schema) }
