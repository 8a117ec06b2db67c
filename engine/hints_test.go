package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHintsAreReadFromRawAnnotations(t *testing.T) {
	for in, want := range map[string]Hints{
		"":     {},
		"null": {},
		"{}":   {},
		` {"readOnlyHint": true, "destructiveHint": false, "openWorldHint": true, "idempotentHint": false, "title": "x"} `: {True, False, True, False},
		`{"readOnlyHint": "yes", "destructiveHint": "no", "openWorldHint": 0, "idempotentHint": null}`:                     {},
		`{"readOnlyHint": [true], "destructiveHint": {"a": false}, "openWorldHint": "false", "idempotentHint": 1}`:         {},
		`{"ReadOnlyHint": true, "READONLYHINT": true, "readonlyhint": true, "destructivehint": false}`:                     {},
		`{"\u0072eadOnlyHint": true}`:                        {ReadOnly: True},
		`{"readOnlyHint": true, "ReadOnlyHint": false}`:      {ReadOnly: True},
		`{"x": {"readOnlyHint": true}, "y": [1e400, "\n"]}`:  {},
		`{"read_only": true, "readOnly": true}`:              {},
		`{"readOnlyHint": false, "title": "\ud83d\ude00 ä"}`: {ReadOnly: False},
	} {
		got, err := HintsFromJSON([]byte(in))
		require.NoError(t, err, in)
		assert.Equal(t, want, got, in)
	}
}

func TestAnnotationsThatCouldBeReadInTwoWaysHaveNoHints(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"readOnlyHint": true, "readOnlyHint": false}`, `byte 23: duplicate key "readOnlyHint"`},
		{`{"destructiveHint": false, "destructiveHin\u0074": false}`, `byte 27: duplicate key "destructiveHint"`},
		{`{"readOnlyHint": true, "x": {"a": 1, "a": 1}}`, `byte 37: duplicate key "a"`},
		{`[]`, `byte 2: wrong type: annotations are an object`},
		{`true`, `byte 4: wrong type: annotations are an object`},
		{`"readOnlyHint"`, `byte 14: wrong type: annotations are an object`},
		{`17`, `byte 2: wrong type: annotations are an object`},
		{` `, `byte 0: there is no JSON value`},
		{`{"readOnlyHint": true} {}`, `byte 22: data behind the JSON value`},
		{`null null`, `byte 4: data behind the JSON value`},
		{`{"readOnlyHint": true`, `byte 21: not JSON: unexpected EOF`},
		{`{"readOnlyHint": tru}`, `byte 20: not JSON: invalid character '}' in literal true (expecting 'e')`},
		{`{"readOnlyHint": true,}`, `byte 21: not JSON: invalid character ',' at start of value`},
		{"{\"readOnlyHint\": true, \"x\": \"\xff\"}", `byte 29: not JSON: invalid UTF-8`},
		{`{"readOnlyHint": true, "x": ` + strings.Repeat("[", 20_000), `byte 10027: not JSON: exceeded max depth`},
	} {
		got, err := HintsFromJSON([]byte(c.in))
		assert.EqualError(t, err, c.want, "%.60s", c.in)
		assert.Zero(t, got, "%.60s", c.in)
		var typed *JSONError
		assert.ErrorAs(t, err, &typed)
	}
}

// TestEffectiveHints spells out every combination that matters.
func TestEffectiveHints(t *testing.T) {
	hints := []Hint{Unset, True, False}
	checked := 0
	for _, ro := range hints {
		for _, de := range hints {
			for _, ow := range hints {
				for _, id := range hints {
					h := Hints{ro, de, ow, id}
					assert.False(t, h.Effective(HintReadOnly, false), "%v", h)
					assert.True(t, h.Effective(HintDestructive, false), "%v", h)
					assert.True(t, h.Effective(HintOpenWorld, false), "%v", h)
					assert.False(t, h.Effective(HintIdempotent, false), "%v", h)

					assert.Equal(t, ro == True, h.Effective(HintReadOnly, true), "%v", h)
					destructive := true
					if ro == True || de == False {
						destructive = false
					}
					assert.Equal(t, destructive, h.Effective(HintDestructive, true), "%v", h)
					assert.Equal(t, ow != False, h.Effective(HintOpenWorld, true), "%v", h)
					assert.Equal(t, id == True, h.Effective(HintIdempotent, true), "%v", h)
					checked++
				}
			}
		}
	}
	assert.Equal(t, 81, checked)
	assert.False(t, Hints{True, True, True, True}.Effective(HintKey(9), true))
	assert.True(t, Hints{Destructive: Hint(9), OpenWorld: Hint(9)}.Effective(HintDestructive, true), "a Hint out of range is none")
	assert.True(t, Hints{OpenWorld: Hint(9)}.Effective(HintOpenWorld, true))
}

func TestHintNames(t *testing.T) {
	for k, name := range map[HintKey]string{
		HintReadOnly: "read_only", HintDestructive: "destructive", HintOpenWorld: "open_world", HintIdempotent: "idempotent",
	} {
		assert.Equal(t, name, k.String())
		got, err := ParseHintKey(name)
		require.NoError(t, err)
		assert.Equal(t, k, got)
	}
	_, err := ParseHintKey("readOnly")
	assert.EqualError(t, err, `unknown annotation "readOnly" (write read_only, destructive, open_world or idempotent)`)
	assert.Equal(t, "HintKey(9)", HintKey(9).String())
	assert.Equal(t, []string{"unset", "true", "false"}, []string{Unset.String(), True.String(), False.String()})
}
