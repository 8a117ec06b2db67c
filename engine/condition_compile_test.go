package engine

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBadConditionsAreRefusedWithEverythingThatIsWrong(t *testing.T) {
	deep := Equals(1)
	for range 130 {
		deep = Each(deep)
	}
	for _, c := range []struct {
		key   string
		conds []Condition
		want  string
	}{
		{"", []Condition{Exists(true)}, `the key is empty (write "/" for the member whose name is empty)`},
		{"k\xff", []Condition{Exists(true)}, `key "k\xff": the key is not valid UTF-8`},
		{"/a~2", []Condition{Exists(true)}, `key "/a~2": '~' at byte 2 of a JSON Pointer (write ~0 for '~' and ~1 for '/')`},
		{"/a~", []Condition{Exists(true)}, `key "/a~": '~' at byte 2 of a JSON Pointer (write ~0 for '~' and ~1 for '/')`},
		{"k", nil, `key "k": no condition (name at least one, such as exists)`},
		{"k", []Condition{{}}, `key "k": condition: the zero Condition tests nothing (make one with Equals, In, Match or another constructor)`},
		{"k", []Condition{In()}, `key "k": in: no value to compare with (name at least one)`},
		{"k", []Condition{Equals(make(chan int))}, `key "k": equals: a Go value of type chan int is not a JSON value`},
		{"k", []Condition{In("a", math.Inf(1))}, `key "k": in: value 1: a Go value of type float64 is not a JSON value`},
		{"k", []Condition{Contains([]byte("x"))}, `key "k": contains: a Go value of type []uint8 is not a JSON value`},
		{"k", []Condition{Match(nil)}, `key "k": regexp: the regular expression is nil or was never compiled`},
		{"k", []Condition{Match(new(regexp.Regexp))}, `key "k": regexp: the regular expression is nil or was never compiled`},
		{"k", []Condition{Inside("data")}, `key "k": inside: root "data": the path is relative (write "/data", "C:/data" or '\\server\share\data')`},
		{"k", []Condition{Outside("")}, `key "k": outside: the root is empty (write an absolute path, such as "/data")`},
		{"k", []Condition{Each()}, `key "k": each: no condition on the elements (name at least one)`},
		{"k", []Condition{Any()}, `key "k": any: no condition on the elements (name at least one)`},
		{"k", []Condition{Each(Any(Inside("x")))}, `key "k": each.any.inside: root "x": the path is relative (write "/data", "C:/data" or '\\server\share\data')`},
		{"k", []Condition{deep}, `key "k": ` + strings.Repeat("each.", 128) + `each: nested deeper than 128`},
		{"/~", []Condition{{}, Exists(true), Each(In(), Match(nil))}, strings.Join([]string{
			`key "/~": '~' at byte 1 of a JSON Pointer (write ~0 for '~' and ~1 for '/')`,
			`key "/~": condition: the zero Condition tests nothing (make one with Equals, In, Match or another constructor)`,
			`key "/~": each.in: no value to compare with (name at least one)`,
			`key "/~": each.regexp: the regular expression is nil or was never compiled`,
		}, "\n")},
	} {
		l, err := compileLookup(c.key, c.conds, true)
		assert.Nil(t, l)
		assert.EqualError(t, err, c.want)
		var typed *ConditionError
		assert.ErrorAs(t, err, &typed)
		assert.Equal(t, c.key, typed.Key)
	}
	_, err := compileCondition(Each(Condition{}))
	assert.EqualError(t, err, "each.condition: the zero Condition tests nothing (make one with Equals, In, Match or another constructor)")
	_, err = compileCondition(Each(Equals(1)))
	assert.NoError(t, err)
	assert.EqualError(t, &ConditionError{Err: ErrMissing}, "there is no such value")
}

func TestWhatAConditionWasMadeFromMayChange(t *testing.T) {
	value, values, re, parts := []any{"a"}, []any{"a", "b"}, regexp.MustCompile("^a$"), []Condition{Equals("a")}
	conds := []Condition{Equals(value)}
	equals, in, match, each := mustLookup(t, "list", conds...), In(values...), Match(re), Each(parts...)
	matchLookup := mustLookup(t, "k", match)
	value[0], values[0], parts[0], conds[0] = "z", "z", Equals("z"), Condition{}
	require.NoError(t, re.UnmarshalText([]byte("^z$")))
	args := map[string]any{"k": "a", "list": []any{"a"}}
	assert.Equal(t, "yes", answer(t, equals, args))
	assert.Equal(t, "yes", answer(t, mustLookup(t, "k", in), args))
	assert.Equal(t, "yes", answer(t, matchLookup, args))
	assert.Equal(t, "yes", answer(t, mustLookup(t, "list", each), args))
}

func TestConditionString(t *testing.T) {
	for want, c := range map[string]Condition{
		`equals: "x"`:                             Equals("x"),
		`equals: 1.50`:                            Equals(json.Number("1.50")),
		`equals: 0.1`:                             Equals(0.1),
		`equals: {"a": [1, null], "b": true}`:     Equals(map[string]any{"b": true, "a": []any{1, nil}}),
		`equals: (chan int)`:                      Equals(make(chan int)),
		`equals: ([]interface {})`:                Equals([]any{make(chan int)}),
		`in: ["a", 1, {}]`:                        In("a", uint8(1), map[string]int{}),
		`in: []`:                                  In(),
		`regexp: "^\\w+$"`:                        Match(regexp.MustCompile(`^\w+$`)),
		`regexp: nil`:                             Match(nil),
		`contains: "admins"`:                      Contains("admins"),
		`inside: "/data"`:                         Inside("/data"),
		`outside: "C:\\data"`:                     Outside(`C:\data`),
		`exists: true`:                            Exists(true),
		`each: {inside: "/data"}`:                 Each(Inside("/data")),
		`any: {equals: 1, each: {exists: false}}`: Any(Equals(1), Each(Exists(false))),
		`no condition`:                            {},
		`each: {no condition}`:                    Each(Condition{}),
	} {
		assert.Equal(t, want, c.String())
	}
	list, _ := cyclic()
	assert.Equal(t, "equals: ([]interface {})", Equals(list).String())
}
