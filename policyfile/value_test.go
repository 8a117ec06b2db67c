package policyfile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// readThings reads a document of another kind: {"version": 1, "name": TEXT, "rules": RULES, "request": REQUEST}.
func readThings(data string) (name string, rules []engine.Rule, req *policyfile.Request, err error) {
	err = policyfile.Read([]byte(data), policyfile.Options{File: "t.yaml"}, func(v policyfile.Value) {
		v.Object("a thing",
			policyfile.Key{Name: "version", Read: policyfile.Value.Version, Required: true},
			policyfile.Key{Name: "name", Required: true, Read: func(v policyfile.Value) { name, _ = v.Text("a name") }},
			policyfile.Key{Name: "rules", Read: func(v policyfile.Value) {
				rules = v.Rules()
				_, err := engine.CompilePolicy(engine.PolicyOptions{Deny: rules})
				v.FailRules(err)
			}},
			policyfile.Key{Name: "request", Read: func(v policyfile.Value) { req, _ = v.Request() }},
		)
	})
	return name, rules, req, err
}

func TestReadReadsWhatIsNoPolicyInBothNotations(t *testing.T) {
	for _, doc := range []string{
		"version: 1\nname: a\nrules: [\"fs/*\", {annotation: {read_only: true}}]\n" +
			"request: {tool: {server: fs, name: \"x\\u00e9\"}, args: {n: 9007199254740993}, has_approver: true}\n",
		`{"version": 1, "name": "a", "rules": ["fs/*", {"annotation": {"read_only": true}}],
		  "request": {"tool": {"server": "fs", "name": "x\u00e9"}, "args": {"n": 9007199254740993}, "has_approver": true}}`,
	} {
		name, rules, req, err := readThings(doc)
		require.NoError(t, err)
		assert.Equal(t, "a", name)
		require.Len(t, rules, 2)
		assert.Equal(t, `"fs/*"`, rules[0].String())
		assert.False(t, rules[1].Position().IsZero())
		assert.Equal(t, "xé", req.Tool.Name)
		assert.Equal(t, "9007199254740993", req.Call.Args["n"].(interface{ String() string }).String())
		assert.True(t, req.Request.HasApprover)
	}
	_, rules, _, err := readThings("version: 1\nname: a\nrules: \"fs/*\"\n")
	require.NoError(t, err)
	assert.Len(t, rules, 1, "one rule stands for a list of one")
}

func TestReadReportsEverythingWithItsPlace(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{"[1]", "t.yaml:1:1: want a thing, not a list"},
		{"version: 1\n", `t.yaml:1:1: the key "name" is missing`},
		{"version: 2\nnam: a\n", "t.yaml:1:10: version: version 2 is not supported (this program reads version 1)\n" +
			`t.yaml:2:1: unknown key "nam" (did you mean "name"?)`},
		{"version: 1\nname: ''\n", "t.yaml:2:7: name: it is empty (want a name)"},
		{"version: 1\nname: 1\nname: 2\n", "t.yaml:2:7: name: want a name, not the number 1 (put it in quotes to make it a string)\n" +
			`t.yaml:3:1: duplicate key "name" (first on line 2)`},
		{"version: 1\nname: a\nrules: [\"fs/\", {anotation: {}}, \"ok\"]\n",
			"t.yaml:3:9: rules[0]: pattern \"fs/\": the tool segment is empty (write \"fs/*\" for every tool)\n" +
				`t.yaml:3:17: rules[1]: unknown key "anotation" (did you mean "annotation"?)`},
		{"version: 1\nname: a\nrules: {all: []}\n", "t.yaml:3:14: rules.all: an empty list would match everything (name at least one rule)"},
		{"version: 1\nname: a\nrequest: {tool: {server: fs, name: 5}}\n", "t.yaml:3:36: request.tool.name: want a string, not a number"},
		{"version: 1\nname: a\nrequest:\n  tool: {server: fs, name: x}\n  aproved: []\n",
			`t.yaml:5:3: request: unknown key "aproved" (did you mean "approved"?)`},
		{"version: 1\nname: a\nrequest: {tool: *x}\n", "t.yaml:3:17: request.tool: an unquoted *x is an alias of YAML, which is not supported " +
			`(to mean the text, put it in quotes: "*x")`},
		{"version: 1\nname: a\nrules: \"fs/\\u202ex\"\n", "t.yaml:3:8: rules: pattern \"fs/\\u202ex\": " +
			"the tool segment holds the invisible character U+202E (remove it: nobody who reads the rule can see it)"},
		{"a: [", "t.yaml:1:4: YAML: this [ is never closed"},
	} {
		_, _, _, err := readThings(c.doc)
		require.Error(t, err, c.doc)
		assert.Equal(t, c.want, err.Error())
	}
}

func TestValueReadsItsTypesAndNothingElse(t *testing.T) {
	read := func(doc string, f func(policyfile.Value)) string {
		err := policyfile.Read([]byte(doc), policyfile.Options{}, f)
		if err == nil {
			return ""
		}
		return err.Error()
	}
	assert.Empty(t, read("[true, a, null]", func(v policyfile.Value) {
		n := 0
		assert.True(t, v.List("things", func(v policyfile.Value) { n++ }))
		assert.Equal(t, 3, n)
		assert.Equal(t, 3, v.Len())
		assert.Equal(t, `[true,"a",null]`, string(v.Encode()))
	}))
	assert.Equal(t, "1:1: want a list of things, not true", read("true", func(v policyfile.Value) {
		assert.False(t, v.List("things", func(policyfile.Value) { t.Error("no element") }))
		b, ok := v.Bool()
		assert.True(t, b && ok)
	}))
	assert.Equal(t, `1:1: want "a" or "b", not the string "c"`, read("c", func(v policyfile.Value) {
		_, ok := v.Word("a", "b")
		assert.False(t, ok)
		assert.True(t, v.IsText())
	}))
	assert.Equal(t, "1:1: want a mapping, not the string \"c\"\n1:1: want true or false, not the string \"c\"", read("c", func(v policyfile.Value) {
		_, ok := v.JSON()
		assert.False(t, ok)
		_, ok = v.Bool()
		assert.False(t, ok)
	}))
	assert.Empty(t, read("{a: 1, b: [1.50]}", func(v policyfile.Value) {
		object, ok := v.JSON()
		assert.True(t, ok && v.Has("a") && !v.Has("c"))
		assert.Equal(t, []string{"a", "b"}, v.Keys())
		assert.Len(t, object, 2)
		assert.Equal(t, `{"a":1,"b":[1.50]}`, string(v.Encode()))
	}))
	assert.True(t, strings.HasSuffix(read("teh", func(v policyfile.Value) { v.FailUnknown("word", "teh", []string{"the"}) }), `(did you mean "the"?)`))
}
