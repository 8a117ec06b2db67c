package engine

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type (
	namedText   string
	namedList   []namedText
	namedNumber int16
	namedObject map[namedText]any
	namedFlag   bool
	shouting    string // written in another way than it looks
)

func (s shouting) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(s))), nil }

func mustWant(t testing.TB, v any) *wanted {
	t.Helper()
	w, err := compileWanted(v)
	require.NoError(t, err)
	return &w
}

func TestValuesOfOneClassAreEqualAndOthersAreNot(t *testing.T) {
	classes := [][]any{
		{nil},
		{true, namedFlag(true)},
		{false, namedFlag(false)},
		{"", namedText("")},
		{"1", namedText("1")},
		{"a"}, {"A"}, {"\u00e9"}, {"e\u0301"}, {"null"},
		{0, int8(0), uint(0), 0.0, math.Copysign(0, -1), float32(0), json.Number("0"), json.Number("-0.0e9"), namedNumber(0)},
		{1, int8(1), int16(1), int32(1), int64(1), uint(1), uint8(1), uint16(1), uint32(1), uint64(1), float32(1), 1.0,
			json.Number("1"), json.Number("1.0"), json.Number("1e0"), json.Number("0.1e1"), namedNumber(1)},
		{-1, json.Number("-1.0")},
		{0.1, float32(0.1), json.Number("0.1"), json.Number("1e-1")},
		{json.Number("0.1000000000000000055511151231257827")},
		{json.Number("9007199254740993"), int64(9007199254740993), uint64(9007199254740993)},
		{json.Number("9007199254740992"), float64(9007199254740993), 1 << 53},
		{json.Number("1e400"), json.Number("10e399")},
		{json.Number("1e401")},
		{uint64(math.MaxUint64), json.Number("18446744073709551615")},
		{[]any{}, []string{}, []int(nil), [0]bool{}, namedList{}},
		{[]any{"a", "b"}, []string{"a", "b"}, [2]string{"a", "b"}, namedList{"a", "b"}, []namedText{"a", "b"}, []any{namedText("a"), "b"}},
		{[]any{"b", "a"}},
		{[]any{"a"}, []string{"a"}},
		{[]any{1, "a", nil}, []any{1.0, "a", nil}},
		{[]any{[]any{1}}, [][]int{{1}}, []any{[]float64{1}}},
		{map[string]any{}, map[string]string(nil), namedObject{}},
		{map[string]any{"a": 1, "b": []any{"x"}}, namedObject{"b": []string{"x"}, "a": json.Number("1.0")}},
		{map[string]any{"a": 1, "b": []any{"y"}}},
		{map[string]any{"a": 1, "c": []any{"x"}}},
		{map[string]any{"a": "x"}, map[string]string{"a": "x"}},
		{map[string]any{"A": "x"}},
		{map[string]any{"a": nil}},
	}
	for i, class := range classes {
		for j, other := range classes {
			for _, w := range class {
				for _, v := range other {
					assert.Equal(t, verdictOf(i == j), mustWant(t, w).equals(v), "%#v and %#v", w, v)
				}
			}
		}
	}
}

func TestNothingIsClaimedOfWhatIsNoJSON(t *testing.T) {
	one := 1
	for name, v := range map[string]any{
		"float64":                 math.NaN(),
		"float32":                 float32(math.Inf(1)),
		"json.Number":             json.Number("0x1"),
		"[]uint8":                 []byte("YQ=="),
		"json.RawMessage":         json.RawMessage("1"),
		"engine.shouting":         shouting("a"),
		"time.Time":               time.Now(),
		"netip.Addr":              netip.MustParseAddr("::1"),
		"*int":                    &one,
		"struct {}":               struct{}{},
		"chan int":                make(chan int),
		"func()":                  func() {},
		"complex128":              1i,
		"uintptr":                 uintptr(1),
		"map[int]string":          map[int]string{1: "a"},
		"map[interface {}]string": map[any]string{"a": "a"},
		"map[engine.shouting]int": map[shouting]int{"a": 1},
	} {
		_, err := compileWanted(v)
		assert.EqualError(t, err, "a Go value of type "+name+" is not a JSON value")
		assert.ErrorIs(t, err, ErrNotJSON)
		_, err = compileWanted([]any{1, map[string]any{"a": v}})
		assert.EqualError(t, err, "a Go value of type "+name+" is not a JSON value")
		for _, w := range []any{1, "a", nil, []any{}, map[string]any{}} {
			assert.Equal(t, verdictFailed, mustWant(t, w).equals(v), "%s", name)
		}
		// In a composite value a plain difference settles it, wherever it stands; nothing else does.
		assert.Equal(t, verdictFailed, mustWant(t, []any{1, 1}).equals([]any{v, 1}))
		assert.Equal(t, verdictNo, mustWant(t, []any{1, 1}).equals([]any{v, 2}))
		assert.Equal(t, verdictNo, mustWant(t, []any{1, 1}).equals([]any{2, v}))
		assert.Equal(t, verdictNo, mustWant(t, []any{1}).equals([]any{v, v}))
		for range 20 {
			assert.Equal(t, verdictNo, mustWant(t, map[string]any{"a": 1, "b": 1}).equals(map[string]any{"a": v, "b": 2}))
			assert.Equal(t, verdictNo, mustWant(t, map[string]any{"a": 1, "b": 1}).equals(map[string]any{"a": v, "c": 1}))
			assert.Equal(t, verdictFailed, mustWant(t, map[string]any{"a": 1, "b": 1}).equals(map[string]any{"a": v, "b": 1}))
		}
	}
}

func TestWantedValuesAreCopied(t *testing.T) {
	inner := []any{"a"}
	v := map[string]any{"k": inner}
	w := mustWant(t, v)
	inner[0] = "b"
	v["x"] = 1
	assert.Equal(t, verdictYes, w.equals(map[string]any{"k": []any{"a"}}))
	assert.Equal(t, verdictNo, w.equals(v))
}

// nested returns v in n lists, and in n objects.
func nested(n int) (list, object any) {
	list, object = []any{}, map[string]any{}
	for range n - 1 {
		list, object = []any{list}, map[string]any{"a": object}
	}
	return list, object
}

func cyclic() (list []any, object map[string]any) {
	list = []any{nil, nil}
	list[0], list[1] = list, list
	object = map[string]any{}
	object["a"], object["b"] = object, object
	return list, object
}

// broad returns a value of n lists, each holding the next one twice: small in memory, 2^n values.
func broad(n int) any {
	v := any([]any{})
	for range n {
		v = []any{v, v}
	}
	return v
}

type selfish []selfish

func TestNestingAndSizeAreBounded(t *testing.T) {
	list, object := nested(128)
	assert.Equal(t, verdictYes, mustWant(t, list).equals(list))
	assert.Equal(t, verdictYes, mustWant(t, object).equals(object))
	assert.Equal(t, list, cloneValue(list))
	assert.Equal(t, object, cloneValue(object))

	tooDeepList, tooDeepObject := nested(129)
	cyclicList, cyclicObject := cyclic()
	own := selfish{nil}
	own[0] = own
	for _, c := range []struct {
		v    any
		want string
		is   error
	}{
		{tooDeepList, "a Go value of type []interface {} is nested deeper than 128", ErrTooDeep},
		{tooDeepObject, "a Go value of type map[string]interface {} is nested deeper than 128", ErrTooDeep},
		{cyclicList, "a Go value of type []interface {} is nested deeper than 128", ErrTooDeep},
		{cyclicObject, "a Go value of type map[string]interface {} is nested deeper than 128", ErrTooDeep},
		{own, "a Go value of type engine.selfish is nested deeper than 128", ErrTooDeep},
		{broad(60), "a Go value of type []interface {} is too large", ErrTooLarge},
	} {
		start := time.Now()
		_, err := compileWanted(c.v)
		assert.EqualError(t, err, c.want)
		assert.ErrorIs(t, err, c.is)
		left := maxCopied
		_, err = copyValue(c.v, maxDepth, &left)
		assert.EqualError(t, err, c.want)
		assert.PanicsWithError(t, c.want, func() { cloneValue(c.v) })
		for _, w := range []any{list, object, []any{}, "a", []any{1, []any{1, 2}}} {
			assert.NotEqual(t, verdictYes, mustWant(t, w).equals(c.v))
		}
		assert.Less(t, time.Since(start), 20*time.Second)
	}
}

func TestCopiesShareNothingThatCanBeWritten(t *testing.T) {
	pointer := new(int)
	made := func() any {
		return map[string]any{
			"list":   []any{"a", map[string]any{"b": 1}},
			"texts":  []string{"x", "y"},
			"named":  namedObject{"k": []any{1}},
			"array":  [2][]string{{"x"}, {"y"}},
			"maps":   map[string][]int{"a": {1}},
			"bytes":  []byte("ab"),
			"mixed":  []any{nil, true, 1.5, json.Number("1e400"), "s", pointer},
			"nils":   []any{[]any(nil), map[string]any(nil), []string(nil), map[string]int(nil)},
			"ifaces": []error{nil, ErrMissing},
		}
	}
	v := made()
	c := cloneValue(v).(map[string]any)
	require.Equal(t, v, c)
	assert.Same(t, pointer, c["mixed"].([]any)[5], "a pointer is no JSON value and is shared")
	c["list"].([]any)[1].(map[string]any)["b"] = 2
	c["list"].([]any)[0] = "z"
	c["texts"].([]string)[0] = "z"
	c["named"].(namedObject)["k"].([]any)[0] = 2
	array := c["array"].([2][]string)
	array[0][0] = "z"
	c["maps"].(map[string][]int)["a"][0] = 2
	c["bytes"].([]byte)[0] = 'z'
	c["mixed"].([]any)[0] = 1
	c["ifaces"].([]error)[0] = ErrTooDeep
	c["new"] = 1
	assert.Equal(t, made(), v, "writing to a copy changes nothing")
	assert.Nil(t, cloneValue(nil))
	assert.Nil(t, cloneValue([]any(nil)).([]any))
	scalar := any("text")
	assert.Zero(t, testing.AllocsPerRun(100, func() { cloneValue(scalar) }))
}

// TestRandomValuesEqualWhenTheirCanonicalFormsDo takes the canonical form of a value for its identity.
func TestRandomValuesEqualWhenTheirCanonicalFormsDo(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 4))
	same := 0
	for range 5_000 {
		x := randomValue(r, 3)
		y := randomValue(r, 3)
		switch r.IntN(3) {
		case 0:
			y = cloneValue(x)
		case 1:
			y = change(r, x)
		}
		var a, b strings.Builder
		spell(r, &a, x)
		spell(r, &b, y)
		p, err := CanonicalJSON([]byte(a.String()))
		require.NoError(t, err)
		q, err := CanonicalJSON([]byte(b.String()))
		require.NoError(t, err)
		want := verdictOf(string(p) == string(q))
		require.Equal(t, want, mustWant(t, x).equals(y), "%s\n%s", p, q)

		dec := json.NewDecoder(strings.NewReader(b.String()))
		dec.UseNumber()
		var decoded any
		require.NoError(t, dec.Decode(&decoded))
		require.Equal(t, want, mustWant(t, x).equals(decoded), "%s\n%s", p, b.String())
		require.Equal(t, want, mustWant(t, decoded).equals(x))
		if want == verdictYes {
			same++
		}
	}
	assert.Greater(t, same, 1_000)
}

func TestComparingAllocatesNothing(t *testing.T) {
	var v any
	dec := json.NewDecoder(strings.NewReader(`{"a": [1, 1.5e3, "x", true, null, 123456789012345678901234567890], "b": {"c": {}}}`))
	dec.UseNumber()
	require.NoError(t, dec.Decode(&v))
	w := mustWant(t, v)
	f := mustWant(t, 1.25)
	var float any = 1.25
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if w.equals(v) != verdictYes || f.equals(float) != verdictYes {
			t.Error("not equal")
		}
	}))
}
