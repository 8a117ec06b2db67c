package engine

import (
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mustLookup(t testing.TB, key string, conds ...Condition) *compiledLookup {
	t.Helper()
	l, err := compileLookup(key, conds, true)
	require.NoError(t, err)
	return l
}

// decoded returns a JSON object as a call brings it.
func decoded(t testing.TB, text string) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var m map[string]any
	require.NoError(t, dec.Decode(&m))
	return m
}

// answer is yes, no, or the error.
func answer(t testing.TB, l *compiledLookup, m map[string]any) string {
	t.Helper()
	v, err := l.eval(m, nil)
	require.Equal(t, v == verdictFailed, err != nil, "an error goes with a failure and with nothing else")
	if err != nil {
		var typed *ConditionError
		require.True(t, errors.As(err, &typed))
		require.Equal(t, l.key, typed.Key)
		return err.Error()
	}
	return map[verdict]string{verdictYes: "yes", verdictNo: "no"}[v]
}

func TestConditions(t *testing.T) {
	re := regexp.MustCompile(`^[a-z]+$`)
	const missing = `: there is no such value`
	for _, c := range []struct {
		cond Condition
		args string
		want string
	}{
		{Equals("x"), `{"k": "x"}`, "yes"},
		{Equals("x"), `{"k": "X"}`, "no"},
		{Equals("x"), `{}`, `key "k": equals` + missing},
		{Equals("1"), `{"k": 1}`, `key "k": equals: wrong type: it takes a string, and the value is a number`},
		{Equals(1), `{"k": "1"}`, `key "k": equals: wrong type: it takes a number, and the value is a string`},
		{Equals(1), `{"k": 1.0}`, "yes"},
		{Equals(1.5), `{"k": 15e-1}`, "yes"},
		{Equals(json.Number("9007199254740993")), `{"k": 9007199254740992}`, "no"},
		{Equals(0), `{"k": -0}`, "yes"},
		{Equals(json.Number("1e400")), `{"k": 10e399}`, "yes"},
		{Equals(nil), `{"k": null}`, "yes"},
		{Equals(nil), `{"k": 0}`, `key "k": equals: wrong type: it takes null, and the value is a number`},
		{Equals("x"), `{"k": null}`, `key "k": equals: wrong type: it takes a string, and the value is null`},
		{Equals(true), `{"k": true}`, "yes"},
		{Equals(true), `{"k": false}`, "no"},
		{Equals(true), `{"k": "true"}`, `key "k": equals: wrong type: it takes a boolean, and the value is a string`},
		{Equals([]any{"a", 1}), `{"k": ["a", 1.0]}`, "yes"},
		{Equals([]any{"a", 1}), `{"k": ["a", "1"]}`, "no"},
		{Equals([]any{"a", 1}), `{"k": [1, "a"]}`, "no"},
		{Equals([]string{}), `{"k": []}`, "yes"},
		{Equals([]string{}), `{"k": {}}`, `key "k": equals: wrong type: it takes a list, and the value is an object`},
		{Equals(map[string]any{"a": 1, "b": nil}), `{"k": {"b": null, "a": 1e0}}`, "yes"},
		{Equals(map[string]any{"a": 1}), `{"k": {"a": 1, "b": 2}}`, "no"},

		{In("a", 1, nil), `{"k": "a"}`, "yes"},
		{In("a", 1, nil), `{"k": 1.0}`, "yes"},
		{In("a", 1, nil), `{"k": null}`, "yes"},
		{In("a", 1, nil), `{"k": "b"}`, "no"},
		{In("a", 1, nil), `{"k": true}`, `key "k": in: wrong type: it takes null or a number or a string, and the value is a boolean`},
		{In("b", "a", "c"), `{"k": "c"}`, "yes"},
		{In("b", "a", "c"), `{"k": "d"}`, "no"},
		{In("b", "a"), `{"k": 1}`, `key "k": in: wrong type: it takes a string, and the value is a number`},
		{In([]any{1}, []any{2}), `{"k": [2]}`, "yes"},
		{In("a"), `{}`, `key "k": in` + missing},

		{Match(re), `{"k": "abc"}`, "yes"},
		{Match(re), `{"k": "ABC"}`, "no"},
		{Match(re), `{"k": 7}`, `key "k": regexp: wrong type: it takes a string, and the value is a number`},
		{Match(re), `{"k": ["abc"]}`, `key "k": regexp: wrong type: it takes a string, and the value is a list`},
		{Match(re), `{}`, `key "k": regexp` + missing},
		{Match(regexp.MustCompile(`b`)), `{"k": "abc"}`, "yes"},

		{Contains("a"), `{"k": ["b", "a"]}`, "yes"},
		{Contains("a"), `{"k": ["b"]}`, "no"},
		{Contains("a"), `{"k": []}`, "no"},
		{Contains("1"), `{"k": [1]}`, "no"},
		{Contains(1), `{"k": ["1", 1.0]}`, "yes"},
		{Contains([]any{1}), `{"k": [[1]]}`, "yes"},
		{Contains(nil), `{"k": [null]}`, "yes"},
		{Contains("a"), `{"k": "a"}`, `key "k": contains: wrong type: it takes a list, and the value is a string`},
		{Contains("a"), `{"k": {"a": 1}}`, `key "k": contains: wrong type: it takes a list, and the value is an object`},
		{Contains("a"), `{}`, `key "k": contains` + missing},

		{Inside("/data"), `{"k": "/data/x"}`, "yes"},
		{Inside("/data"), `{"k": "/data-evil"}`, "no"},
		{Inside("/data"), `{"k": "/data/../x"}`, `key "k": inside: the path has a '.' or '..' segment`},
		{Inside("/data"), `{"k": ["/data/x"]}`, `key "k": inside: wrong type: it takes a string, and the value is a list`},
		{Inside("/data"), `{}`, `key "k": inside` + missing},
		{Outside("/data"), `{"k": "/data/x"}`, "no"},
		{Outside("/data"), `{"k": "/data"}`, "no"},
		{Outside("/data"), `{"k": "/data-evil"}`, "yes"},
		{Outside("/data"), `{"k": "x"}`, `key "k": outside: the path is relative`},
		{Outside("/data"), `{"k": "/x/../data"}`, `key "k": outside: the path has a '.' or '..' segment`},
		{Outside("/data"), `{"k": null}`, `key "k": outside: wrong type: it takes a string, and the value is null`},
		{Outside("/data"), `{}`, `key "k": outside` + missing},
		{Outside(`C:\data`), `{"k": "c:/DATA/x"}`, "no"},
		{Outside(`C:\data`), `{"k": "\\\\?\\C:\\x"}`, `key "k": outside: the path is in a device namespace (\\?\, \\.\ or \??\)`},

		{Exists(true), `{"k": null}`, "yes"},
		{Exists(true), `{}`, "no"},
		{Exists(false), `{"k": null}`, "no"},
		{Exists(false), `{}`, "yes"},

		{Each(Inside("/data")), `{"k": ["/data/a", "/data/b"]}`, "yes"},
		{Each(Inside("/data")), `{"k": ["/data/a", "/etc"]}`, "no"},
		{Each(Inside("/data")), `{"k": []}`, "no"},
		{Each(Inside("/data")), `{"k": ["/data/a", "b"]}`, `key "k": each.inside: the path is relative`},
		{Each(Inside("/data")), `{"k": ["b", "/etc"]}`, "no"},
		{Each(Inside("/data")), `{"k": [1, "b"]}`, `key "k": each.inside: wrong type: it takes a string, and the value is a number`},
		{Each(Inside("/data")), `{"k": "/data/a"}`, `key "k": each: wrong type: it takes a list, and the value is a string`},
		{Each(Inside("/data")), `{"k": null}`, `key "k": each: wrong type: it takes a list, and the value is null`},
		{Each(Inside("/data")), `{}`, `key "k": each` + missing},
		{Each(Match(re), Equals("abc")), `{"k": ["abc", "abc"]}`, "yes"},
		{Each(Match(re), Equals("abc")), `{"k": ["abc", "abd"]}`, "no"},
		{Each(Inside("/data"), Equals("b")), `{"k": ["b"]}`, `key "k": each.inside: the path is relative`},
		{Each(Inside("/data"), Equals("c")), `{"k": ["b"]}`, "no"},
		{Each(Exists(true)), `{"k": [null]}`, "yes"},
		{Each(Exists(false)), `{"k": [null]}`, "no"},
		{Each(Each(Equals(1))), `{"k": [[1, 1], [1.0]]}`, "yes"},
		{Each(Each(Equals(1))), `{"k": [[1, 1], []]}`, "no"},
		{Each(Each(Equals(1))), `{"k": [[1, "1"]]}`, `key "k": each.each.equals: wrong type: it takes a number, and the value is a string`},

		{Any(Equals("a")), `{"k": ["b", "a"]}`, "yes"},
		{Any(Equals("a")), `{"k": ["b"]}`, "no"},
		{Any(Equals("a")), `{"k": []}`, "no"},
		{Any(Equals("a")), `{"k": [1, "a"]}`, "yes"},
		{Any(Equals("a")), `{"k": [1, "b"]}`, `key "k": any.equals: wrong type: it takes a string, and the value is a number`},
		{Any(Equals("a")), `{"k": "a"}`, `key "k": any: wrong type: it takes a list, and the value is a string`},
		{Any(Equals("a")), `{}`, `key "k": any` + missing},
		{Any(Outside("/data")), `{"k": ["/data/x", "../x"]}`, `key "k": any.outside: the path is relative`},
		{Any(Match(re), Equals("abc")), `{"k": ["abd", "abc"]}`, "yes"},
		{Any(Match(re), Equals("ABC")), `{"k": ["abc", "ABC"]}`, "no"},
		{Any(Any(Equals(1)), Each(Equals(1))), `{"k": [[1, 2], [1]]}`, "yes"},
	} {
		assert.Equal(t, c.want, answer(t, mustLookup(t, "k", c.cond), decoded(t, c.args)), "%s on %s", c.cond, c.args)
		attribute, err := compileLookup("k", []Condition{c.cond}, false)
		require.NoError(t, err)
		assert.Equal(t, c.want, answer(t, attribute, decoded(t, c.args)), "%s on %s", c.cond, c.args)
	}
	for cond, want := range map[*Condition]string{
		{op: condExists, want: false}: "yes", {op: condExists, want: true}: "no",
		{op: condEquals, values: []any{1}}: `key "k": equals` + missing,
	} {
		assert.Equal(t, want, answer(t, mustLookup(t, "k", *cond), nil), "no arguments at all")
	}
}

// TestConjunctionIsKleenes goes through all triples of yes, no and failed.
func TestConjunctionIsKleenes(t *testing.T) {
	args := decoded(t, `{"k": "/data/x"}`)
	parts := []struct {
		cond Condition
		want verdict
	}{{Inside("/data"), verdictYes}, {Outside("/data"), verdictNo}, {Equals(1), verdictFailed}}
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range parts {
				want := verdictYes
				for _, v := range []verdict{a.want, b.want, c.want} {
					if v == verdictNo {
						want = verdictNo
						break
					}
					if v == verdictFailed {
						want = verdictFailed
					}
				}
				got, _ := mustLookup(t, "k", a.cond, b.cond, c.cond).eval(args, nil)
				assert.Equal(t, want, got, "%s, %s, %s", a.cond, b.cond, c.cond)
			}
		}
	}
	_, err := mustLookup(t, "k", Equals(1), Contains(1)).eval(args, nil)
	assert.EqualError(t, err, `key "k": equals: wrong type: it takes a number, and the value is a string`, "the first failure is the one told")
}

func TestAKeyThatDiffersInCaseMakesArgumentsFail(t *testing.T) {
	const twin = `key "path": another key differs from this one only in case, and a careless reader may take that one`
	for _, cond := range []Condition{Equals("x"), Equals("y"), Exists(true), Exists(false)} {
		for _, args := range []string{
			`{"path": "x", "Path": "y"}`, `{"PATH": "x"}`, `{"pat\u0068": "x", "patH": "x"}`, `{"a": 1, "b": 2, "paTh": null, "path": 1}`,
		} {
			assert.Equal(t, twin, answer(t, mustLookup(t, "path", cond), decoded(t, args)), "%s on %s", cond, args)
		}
	}
	assert.Contains(t, answer(t, mustLookup(t, "keys", Exists(true)), decoded(t, `{"keys": 1, "\u212aeys": 2}`)), "only in case")
	assert.Contains(t, answer(t, mustLookup(t, "paths", Exists(true)), decoded(t, `{"paths": 1, "path\u017f": 2}`)), "only in case")
	_, err := mustLookup(t, "path", Exists(true)).eval(map[string]any{"Path": 1}, nil)
	assert.ErrorIs(t, err, ErrAmbiguousKey)

	for _, args := range []string{`{"path": "x", "paths": "y", "pat": "z", "pa_th": 1}`, `{"path": "x", "nested": {"Path": "y"}}`} {
		assert.Equal(t, "yes", answer(t, mustLookup(t, "path", Equals("x")), decoded(t, args)), args)
	}
	args := decoded(t, `{"path": "x", "Path": "y"}`)
	attribute, err := compileLookup("path", []Condition{Equals("x")}, false)
	require.NoError(t, err)
	assert.Equal(t, "yes", answer(t, attribute, args), "attributes are the caller's own and read exactly")
	assert.Equal(t, "yes", answer(t, mustLookup(t, "/path", Equals("x")), args), "a pointer says which it means")
}

func TestKeysThatBeginWithASlashAreJSONPointers(t *testing.T) {
	args := decoded(t, `{"a": {"b": [{"c": "x"}, "y"], "": "empty", "m~n": 1, "s/t": 2, "0": "zero", "~1": "tilde"}, "": {"": 3}, "/a": 9, "n": null}`)
	for pointer, want := range map[string]any{
		"/a/b/0/c": "x", "/a/b/1": "y", "/a/": "empty", "/a/m~0n": 1, "/a/s~1t": 2, "/a/0": "zero", "/a/~01": "tilde", "//": 3, "/~1a": 9, "/n": nil,
	} {
		assert.Equal(t, "yes", answer(t, mustLookup(t, pointer, Equals(want)), args), pointer)
		assert.Equal(t, "yes", answer(t, mustLookup(t, pointer, Exists(true)), args), pointer)
	}
	for _, pointer := range []string{
		"/x", "/a/x", "/a/b/2", "/a/b/-", "/a/b/00", "/a/b/01", "/a/b/+1", "/a/b/-1", "/a/b/1e0", "/a/b/", "/a/b/x", "/a/b/1/x", "/n/x",
		"/a/b/99999999999999999999999999", "/a/b/18446744073709551616", "/A", "/a/B",
	} {
		assert.Equal(t, `key "`+pointer+`": equals: there is no such value`, answer(t, mustLookup(t, pointer, Equals("x")), args))
		assert.Equal(t, "yes", answer(t, mustLookup(t, pointer, Exists(false)), args), pointer)
		assert.Equal(t, "no", answer(t, mustLookup(t, pointer, Exists(true)), nil), pointer)
	}
	for _, m := range []map[string]any{{"a": map[string]string{"b": "x"}}, {"a": namedObject{"b": "x"}}} {
		assert.Equal(t, "yes", answer(t, mustLookup(t, "/a/b", Equals("x")), m))
	}
	assert.Equal(t, "yes", answer(t, mustLookup(t, "/a/1", Equals("y")), map[string]any{"a": []string{"x", "y"}}))
}

func TestGoValuesThatAreNoJSONFail(t *testing.T) {
	secret := struct{ Password string }{"hunter2"}
	for _, c := range []struct {
		key  string
		cond Condition
		v    any
		want string
	}{
		{"k", Equals("x"), secret, `key "k": equals: a Go value of type struct { Password string } is not a JSON value`},
		{"k", Equals(1), math.NaN(), `key "k": equals: a Go value of type float64 is not a JSON value`},
		{"k", Equals(1), json.Number("hunter2"), `key "k": equals: a Go value of type json.Number is not a JSON value`},
		{"k", Equals([]any{1}), []any{secret}, `key "k": equals: the value holds a part that is not a JSON value`},
		{"k", In([]any{1}, []any{2}), []any{secret}, `key "k": in: the value holds a part that is not a JSON value`},
		{"k", In([]any{1}, []any{secret.Password}), []any{secret.Password}, "yes"},
		{"k", Contains("x"), []any{secret}, `key "k": contains: the value holds a part that is not a JSON value`},
		{"k", Contains("x"), []any{secret, "x"}, "yes"},
		{"k", Contains("x"), []byte("x"), `key "k": contains: a Go value of type []uint8 is not a JSON value`},
		{"k", Match(regexp.MustCompile("x")), shouting("x"), `key "k": regexp: a Go value of type engine.shouting is not a JSON value`},
		{"k", Exists(true), secret, "yes"},
		{"/k/Password", Exists(true), secret, `key "/k/Password": a Go value of type struct { Password string } is not a JSON value`},
		{"/k/Password", Equals("x"), &secret, `key "/k/Password": a Go value of type *struct { Password string } is not a JSON value`},
		{"k", Contains("admins"), []string{"users", "admins"}, "yes"},
		{"k", Contains("admins"), []string(nil), "no"},
		{"k", Each(Match(regexp.MustCompile("^x"))), namedList{"x", "xy"}, "yes"},
		{"k", Inside("/data"), namedText("/data/x"), "yes"},
	} {
		assert.Equal(t, c.want, answer(t, mustLookup(t, c.key, c.cond), map[string]any{"k": c.v}))
	}
}

func TestErrorsNeverHoldTheValue(t *testing.T) {
	const secret = "hunter2"
	for _, v := range []any{secret, "../" + secret, []any{secret}, map[string]any{secret: secret}, json.Number(secret), []byte(secret)} {
		for _, cond := range []Condition{
			Equals(1.5), In(true, nil), Match(regexp.MustCompile("x")), Contains(1), Inside("/data"), Outside(`C:\data`), Each(Equals(1)), Any(Inside("/x")),
		} {
			_, err := mustLookup(t, "k", cond).eval(map[string]any{"k": v}, nil)
			if err != nil {
				assert.NotContains(t, err.Error(), secret, "%s", cond)
			}
		}
	}
	_, err := mustLookup(t, "k", Exists(true)).eval(map[string]any{"K": secret}, nil)
	assert.NotContains(t, err.Error(), secret)
}

func TestAnswersAllocateNothing(t *testing.T) {
	args := decoded(t, `{"path": "/data/x/y", "n": 15e-1, "big": 123456789012345678901234567890, "groups": ["users", "admins"],
		"deep": {"list": [{"paths": ["/data/a", "/data/b"]}]}, "flag": true, "none": null}`)
	var lookups []*compiledLookup
	for key, conds := range map[string][]Condition{
		"path":               {Inside("/data"), Outside("/etc"), Match(regexp.MustCompile(`^/data`)), In("/a", "/b", "/data/x/y"), Exists(true)},
		"n":                  {Equals(1.5), In(1, 2, 1.5)},
		"big":                {Equals(json.Number("12345678901234567890123456789e1"))},
		"groups":             {Contains("admins"), Any(Equals("admins")), Each(In("users", "admins")), Equals([]any{"users", "admins"})},
		"/deep/list/0/paths": {Each(Inside("/data"))},
		"/deep/list/1/paths": {Exists(false)},
		"flag":               {Equals(true)},
		"none":               {Equals(nil)},
	} {
		lookups = append(lookups, mustLookup(t, key, conds...))
	}
	no := []*compiledLookup{
		mustLookup(t, "path", Equals(1), Outside("/data")), mustLookup(t, "groups", Each(Inside("/data"), Equals("x"))), mustLookup(t, "n", Equals(2)),
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for _, l := range lookups {
			if v, err := l.eval(args, nil); v != verdictYes {
				t.Error(err)
			}
		}
		for _, l := range no {
			if v, err := l.eval(args, nil); v != verdictNo {
				t.Error(err)
			}
		}
	}))
}
