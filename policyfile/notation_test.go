package policyfile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is no document at all, or holds what is not taken of YAML or JSON: the whole message.
func TestNotationsAreRefusedWithTheirPlace(t *testing.T) {
	const version = "version: 1\n"
	for _, tt := range []struct{ name, file, text, want string }{
		// Aliases, anchors, tags, merge keys, directives, documents.
		{"unquoted pattern", "p.yaml", version + "policy:\n  deny:\n    - */delete_*\n",
			`p.yaml:4:7: policy.deny[0]: an unquoted */delete_* is an alias of YAML, which is not supported (to mean the text, put it in quotes: "*/delete_*")`},
		{"unquoted star", "p.yaml", version + "filter:\n  exclude: [*]\n",
			`p.yaml:3:13: filter.exclude[0]: an unquoted * is an alias of YAML, which is not supported (to mean the text, put it in quotes: "*")`},
		{"unquoted star at the end", "p.yaml", version + "filter:\n  exclude:\n  - *",
			`p.yaml:4:5: filter.exclude[0]: an unquoted * is an alias of YAML, which is not supported (to mean the text, put it in quotes: "*")`},
		{"several unquoted patterns", "p.yaml", version + "policy:\n  deny: [*/a, \"*/b\", *_c]\n  allow:\n  - */*\n",
			`p.yaml:3:10: policy.deny[0]: an unquoted */a is an alias of YAML, which is not supported (to mean the text, put it in quotes: "*/a")` + "\n" +
				`p.yaml:3:22: policy.deny[2]: an unquoted *_c is an alias of YAML, which is not supported (to mean the text, put it in quotes: "*_c")` + "\n" +
				`p.yaml:5:5: policy.allow[0]: an unquoted */* is an alias of YAML, which is not supported (to mean the text, put it in quotes: "*/*")`},
		{"unquoted pattern in an unreadable document", "p.yaml", version + "policy:\n  deny: [*/a\n",
			`p.yaml:3:10: an unquoted */a is an alias of YAML, which is not supported (to mean the text, put it in quotes: "*/a")`},
		{"anchor and alias", "p.yaml", version + "policy:\n  deny: &x [a/b]\n  ask: *x\n",
			`p.yaml:3:9: policy.deny: an unquoted &x is an anchor of YAML, which is not supported (to mean the text, put it in quotes: "&x")` + "\n" +
				`p.yaml:4:8: policy.ask: an unquoted *x is an alias of YAML, which is not supported (to mean the text, put it in quotes: "*x")`},
		{"anchor of a block mapping", "p.yaml", version + "policy: &x\n  deny: []\n",
			`p.yaml:2:9: policy: an unquoted &x is an anchor of YAML, which is not supported (to mean the text, put it in quotes: "&x")`},
		{"anchor of a key", "p.yaml", version + "policy:\n  &x deny: []\n",
			`p.yaml:3:3: policy: an unquoted &x is an anchor of YAML, which is not supported (to mean the text, put it in quotes: "&x")`},
		{"alias as a key", "p.yaml", version + "&x policy: {}\n*x : {}\n",
			`p.yaml:2:1: an unquoted &x is an anchor of YAML, which is not supported (to mean the text, put it in quotes: "&x")` + "\n" +
				`p.yaml:3:1: an unquoted *x is an alias of YAML, which is not supported (to mean the text, put it in quotes: "*x")`},
		{"tag of the core schema", "p.yaml", version + "policy:\n  deny: [!!str a/b]\n",
			`p.yaml:3:10: policy.deny[0]: an unquoted !!str is a tag of YAML, which is not supported (to mean the text, put it in quotes: "!!str")`},
		{"local tag", "p.yaml", version + "policy: !p {}\n",
			`p.yaml:2:9: policy: an unquoted !p is a tag of YAML, which is not supported (to mean the text, put it in quotes: "!p")`},
		{"tag without a name", "p.yaml", version + "policy:\n  deny: ! [a/b]\n  ask: [! 12]\n",
			`p.yaml:3:9: policy.deny: an unquoted ! is a tag of YAML, which is not supported (to mean the text, put it in quotes: "!")` + "\n" +
				`p.yaml:4:9: policy.ask[0]: an unquoted ! is a tag of YAML, which is not supported (to mean the text, put it in quotes: "!")`},
		{"verbatim tag of a quoted string", "p.yaml", version + "policy:\n  default: !<tag:yaml.org,2002:str> \"ask\"\n",
			`p.yaml:3:12: policy.default: an unquoted !<tag:yaml.org is a tag of YAML, which is not supported (to mean the text, put it in quotes: "!<tag:yaml.org")`},
		{"merge key", "p.yaml", version + "policy:\n  <<: {deny: []}\n",
			`p.yaml:3:3: policy: YAML merge keys are not supported (write the keys out)`},
		{"quoted merge key", "p.yaml", version + "policy:\n  \"<<\": {deny: []}\n",
			`p.yaml:3:3: policy: unknown key "<<" (the keys here are "deny", "ask", "allow", "default", "scope", "pin_tools", "allow_new_tools" and "trusted")`},
		{"directive", "p.yaml", "%YAML 1.1\n---\nversion: 1\n",
			`p.yaml:1:1: YAML directives are not supported (remove the line)`},
		{"second document", "p.yaml", version + "---\nversion: 1\n",
			`p.yaml:2:1: a second document begins here (one file holds one)`},
		{"empty second document", "p.yaml", version + "...\n---\n",
			`p.yaml:3:1: a second document begins here (one file holds one)`},
		{"behind the end", "p.yaml", version + "...\nfoo\n",
			`p.yaml:3:1: YAML: did not find expected <document start> (something follows the end of the document)`},

		// Keys.
		{"duplicate key", "p.yaml", version + "policy:\n  deny: []\n  \"deny\": []\n",
			`p.yaml:4:3: policy: duplicate key "deny" (first on line 3)`},
		{"duplicate key at the root", "p.yaml", version + "version: 1\n",
			`p.yaml:2:1: duplicate key "version" (first on line 1)`},
		{"duplicate keys among many", "p.yaml", version + "policy:\n  trusted: {a: true, b: true, c: true, d: true, e: true, f: true, g: true, h: true, i: true, a: false, c: true}\n",
			`p.yaml:3:94: policy.trusted: duplicate key "a" (first on line 3)` + "\n" + `p.yaml:3:104: policy.trusted: duplicate key "c" (first on line 3)`},
		{"duplicate key in a value", "p.yaml", version + "policy:\n  deny: [{args: {k: {equals: [{a: 1, a: 2}]}}}]\n",
			`p.yaml:3:38: policy.deny[0].args.k.equals[0]: duplicate key "a" (first on line 3)`},
		{"number as a key", "p.yaml", version + "policy:\n  trusted: {1: true}\n",
			`p.yaml:3:13: policy.trusted: a key must be a string, not the number 1 (put it in quotes to make it a string)`},
		{"boolean as a key", "p.yaml", version + "policy:\n  trusted: {true: true}\n",
			`p.yaml:3:13: policy.trusted: a key must be a string, not true (put it in quotes to make it a string)`},
		{"list as a key", "p.yaml", version + "? [a]\n: b\n",
			`p.yaml:2:3: a key must be a string, not a list`},
		{"odd key", "p.yaml", version + "policy:\n  trusted: {\"a b\": 1}\n",
			`p.yaml:3:13: policy.trusted["a b"]: server id "a b": it holds ' ' (an id is non-empty UTF-8 without ':', '/', '*', white space or control characters)` + "\n" +
				`p.yaml:3:20: policy.trusted["a b"]: want true or false, not the number 1`},

		// Scalars.
		{"nothing as a value", "p.yaml", version + "policy:\n  deny:\n  default: ask\n",
			`p.yaml:3:8: policy.deny: the value is missing (write null, "" or [] if that is what you mean)`},
		{"nothing as an element", "p.yaml", version + "policy:\n  deny:\n    -\n    - a/b\n",
			`p.yaml:4:6: policy.deny[0]: the value is missing (write null, "" or [] if that is what you mean)`},
		{"tilde", "p.yaml", version + "policy:\n  deny: [{args: {k: {equals: ~}}}]\n",
			`p.yaml:3:30: policy.deny[0].args.k.equals: ~ is null in another spelling (write null, or put it in quotes to make it a string)`},
		{"capital boolean", "p.yaml", version + "policy:\n  pin_tools: False\n",
			`p.yaml:3:14: policy.pin_tools: False is a boolean in another spelling (write false, or put it in quotes to make it a string)`},
		{"hexadecimal number", "p.yaml", version + "policy:\n  deny: [{args: {k: {in: [1, 0x10]}}}]\n",
			`p.yaml:3:30: policy.deny[0].args.k.in[1]: 0x10 is not a number that JSON could write (write it in decimal, without '_', '+' and leading zeros, or put it in quotes to make it a string)`},
		{"number as a pattern", "p.yaml", version + "policy:\n  deny: [1_000]\n",
			`p.yaml:3:10: policy.deny[0]: 1_000 is not a number that JSON could write (write it in decimal, without '_', '+' and leading zeros, or put it in quotes to make it a string)`},

		// Syntax.
		{"wrong indentation", "p.yaml", version + "policy:\n  deny:\n    - a/b\n   - c/d\n",
			`p.yaml:5:4: YAML: did not find expected key (look at the indentation and at what stands behind a value)`},
		{"key without a colon", "p.yaml", version + "policy:\n  deny:\n    - a/b\n  ask\n  allow: []\n",
			`p.yaml:5:3: YAML: could not find expected ':' (look at the indentation and at what stands behind a value)`},
		{"tab as indentation", "p.yaml", version + "policy:\n\tdeny: []\n",
			`p.yaml:3:1: YAML: found character that cannot start any token (a tab does not indent: use spaces)`},
		{"at sign", "p.yaml", version + "policy:\n  deny: [@x]\n",
			`p.yaml:3:10: YAML: found character that cannot start any token (put the text in quotes)`},
		{"open bracket", "p.yaml", version + "policy:\n  deny: [a/b, {server: x, regexp: y]\n",
			`p.yaml:3:9: YAML: this [ is never closed`},
		{"open quote", "p.yaml", version + "policy:\n  deny: [\"a/b]\n",
			`p.yaml:3:10: YAML: this " is never closed`},
		{"backslash in double quotes", "p.yaml", version + "policy:\n  deny: [{server: x, regexp: \"a\\d\"}]\n",
			`p.yaml:3:32: YAML: found unknown escape character (in double quotes a backslash is written \\; in single quotes it is itself)`},
		{"surrogate escape in YAML", "p.yaml", version + "policy:\n  deny: [\"\\ud83d\\ude00/x\"]\n",
			`p.yaml:3:16: YAML: found invalid Unicode character escape code (a character beyond U+FFFF is written \U and eight digits)`},
		{"colon in a plain text", "p.yaml", version + "policy:\n  deny: [{id: a, rule: a/b}]\n  default: a: b\n",
			`p.yaml:4:13: YAML: mapping values are not allowed in this context (a text that holds a colon and a space is put in quotes)`},
		{"fault in a large document", "p.yaml", version + "policy:\n" + strings.Repeat("# a comment\n", 2000) + "\tdeny: []\n",
			`p.yaml:2003:2: YAML: found character that cannot start any token (put the text in quotes)`},

		// Characters.
		{"empty", "p.yaml", "", `p.yaml:1:1: the document is empty (it begins with "version: 1")`},
		{"only a comment", "p.yaml", "# version: 1\n", `p.yaml:1:1: the document is empty (it begins with "version: 1")`},
		{"only a marker", "p.yaml", "---\n", `p.yaml:1:1: the document is empty (it begins with "version: 1")`},
		{"not UTF-8", "p.yaml", version + "# caf\xe9\n", `p.yaml:2:6: the document is not UTF-8: byte 0xe9`},
		{"UTF-16", "p.yaml", "v\x00e\x00", `p.yaml:1:2: the document holds a NUL character (it must be UTF-8, not UTF-16)`},
		{"UTF-16 with a mark", "p.yaml", "\xff\xfev\x00", `p.yaml:1:1: the document is not UTF-8: byte 0xff`},
		{"control character", "p.yaml", version + "# \x1b[2J\n", `p.yaml:2:3: the control character U+001B may not stand here (in double quotes, write \u001b)`},
		{"line separator that hides a key", "p.yaml", version + "# a\u2028policy: {default: deny}\n",
			`p.yaml:2:4: the line separator U+2028 may not stand here (in double quotes, write \u2028)`},
		{"next line", "p.yaml", version + "# a\u0085\n", `p.yaml:2:4: the line separator U+0085 may not stand here (in double quotes, write \u0085)`},
		{"byte order mark inside", "p.yaml", "version: 1\ufeff\n", `p.yaml:1:11: the byte order mark U+FEFF may not stand here (in double quotes, write \ufeff)`},

		// JSON.
		{"JSON lone surrogate", "p.json", `{"version": 1, "x": "\ud83d"}`, "p.json:1:22: JSON: invalid surrogate pair `\\ud83d\"}` in string"},
		{"JSON trailing comma", "p.json", `{"version": 1,}`, `p.json:1:14: JSON: invalid character ',' at start of value`},
		{"JSON comment", "p.json", "{\"version\": 1 // c\n}", `p.json:1:15: JSON: invalid character '/' after object value (expecting ',' or '}')`},
		{"JSON two documents", "p.json", "{\"version\": 1}\n{}", `p.json:2:2: JSON: there is more behind the document`},
		{"JSON cut off", "p.json", "{\"version\": 1,\n", `p.json:2:1: JSON: the document ends too early`},
		{"JSON empty", "p.json", " ", `p.json:1:2: JSON: the document ends too early`},
		{"JSON list", "p.json", "[]", `p.json:1:1: want a mapping that begins with version: 1, not a list`},
		{"YAML in a JSON file", "p.json", "version: 1\n", `p.json:1:1: JSON: invalid character 'v' at start of value`},
		{"JSON duplicate key", "p.json", "{\"version\": 1,\n \"policy\": {\"deny\": [], \"d\\u0065ny\": []}}", `p.json:2:25: policy: duplicate key "deny" (first on line 2)`},
		{"JSON leading zero", "p.json", `{"version": 01}`, `p.json:1:14: JSON: invalid character '1' after object value (expecting ',' or '}')`},
		{"JSON not UTF-8", "p.json", "{\"version\": 1, \"\xff\": 1}", `p.json:1:17: the document is not UTF-8: byte 0xff`},
		{"JSON by its first character", "p", `{"version": 1, "x": "\ud83d"}`, "p:1:22: JSON: invalid surrogate pair `\\ud83d\"}` in string"},
		{"cut off, by its first character", "p", `{"version": 1`, "p:1:14: JSON: the document ends too early"},
		{"YAML cut off that begins like JSON", "p", `{version: 1`, "p:1:1: YAML: this { is never closed"},
		{"YAML that begins like JSON", "p", "{version: 1, policy: {denny: []}}", `p:1:23: policy: unknown key "denny" (did you mean "deny"?)`},
		{"tabs in JSON", "p", "\t{\n\t\"version\":\t2}", `p:2:13: version: version 2 is not supported (this program reads version 1)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text), Options{File: tt.file})
			require.Error(t, err)
			assert.Equal(t, tt.want, err.Error())
			requireTyped(t, err)
		})
	}
}

func TestUnnamedDocumentsHaveLineAndColumn(t *testing.T) {
	_, err := Parse([]byte("version: 2"), Options{})
	require.EqualError(t, err, "1:10: version: version 2 is not supported (this program reads version 1)")
}

func TestColumnsCountBytes(t *testing.T) {
	for _, text := range []string{
		"version: 1\npolicy: {deny: [\"é\", \"日本\", {foo: 1}]}\n",
		"\ufeffversion: 1\r\npolicy: {deny: [\"é\", \"日本\", {foo: 1}]}\r\n",
		"{\"version\": 1,\n\"policy\":{\"deny\":[\"é\",\"日本\",{\"foo\": 1}]}}\n",
	} {
		_, err := Parse([]byte(text), Options{File: "p"})
		require.EqualError(t, err, "p:2:34: policy.deny[2]: unknown key \"foo\"", text)
	}
}

// Faults that Parse sees and faults that the engine sees come in one error, by place.
func TestEverythingIsReportedAtOnce(t *testing.T) {
	text := `version: 1
filter:
  include: ["fs/", {server: fs}]
  exclude: [{annotation: {read_only: true}}, "ok/*", "a:b/c"]
policy:
  trusted: [ok, "a:b"]
  deny:
    - {id: a, rule: "x/y"}
    - {id: a, rule: "x//y"}
    - all: ["p/", {annotations: {}}, {server: "s:", regexp: "("}]
    - {args: {k: {inside: relative, equal: 1}, "": {exists: true}}, regexp: "["}
  ask: [*/x, "q/"]
  scope: [tools, toasts]
  allow: ["prompt:a/b"]
extra: 1
`
	_, err := Parse([]byte(text), Options{File: "p.yaml"})
	require.Error(t, err)
	requireTyped(t, err)
	want := []string{
		`p.yaml:3:13: filter.include[0]: pattern "fs/": the tool segment is empty (write "fs/*" for every tool)`,
		`p.yaml:3:20: filter.include[1]: the key "regexp" is missing (a pattern is written as one string)`,
		`p.yaml:4:14: filter.exclude[0]: a rule with "annotation" belongs to the policy (a filter takes patterns, regexps and predicates)`,
		`p.yaml:4:54: filter.exclude[2]: pattern "a:b/c": the server segment "a:b" holds ':', which no server id has`,
		`p.yaml:6:17: policy.trusted[1]: server id "a:b": it holds ':' (an id is non-empty UTF-8 without ':', '/', '*', white space or control characters)`,
		`p.yaml:9:7: policy.deny[1] (a): the id is already that of deny[0] (ids are unique in a policy)`,
		`p.yaml:9:21: policy.deny[1] (a): pattern "x//y": the tool segment begins with '/' (write one '/' between server and tool)`,
		`p.yaml:10:13: policy.deny[2]: pattern "p/": the tool segment is empty (write "p/*" for every tool)`,
		`p.yaml:10:20: policy.deny[2].all[1]: unknown key "annotations" (did you mean "annotation"?)`,
		`p.yaml:10:61: policy.deny[2].all[2].regexp: regexp "(": error parsing regexp: missing closing ): ` + "`(`",
		`p.yaml:11:37: policy.deny[3].args.k: unknown key "equal" (did you mean "equals"?)`,
		`p.yaml:11:69: policy.deny[3]: "regexp" does not go with "args" (a rule has one form; join rules with all: […])`,
		`p.yaml:12:9: policy.ask[0]: an unquoted */x is an alias of YAML, which is not supported (to mean the text, put it in quotes: "*/x")`,
		`p.yaml:12:14: policy.ask[1]: pattern "q/": the tool segment is empty (write "q/*" for every tool)`,
		`p.yaml:13:18: policy.scope[1]: want "tools", "resources" or "prompts", not the string "toasts"`,
		`p.yaml:15:1: unknown key "extra" (the keys here are "version", "filter" and "policy")`,
	}
	assert.Equal(t, want, strings.Split(err.Error(), "\n"))
}
