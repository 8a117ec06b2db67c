package engine

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mustDecimal(t testing.TB, s string) decimal {
	t.Helper()
	d, ok := parseDecimal(s)
	require.True(t, ok, "%.40q is a JSON number", s)
	return d
}

func TestNumbersEqualByTheirExactValue(t *testing.T) {
	huge := strings.Repeat("9", 30)
	for _, group := range [][]string{
		{"0", "-0", "0.0", "-0.000", "0e5", "0e99999999999999999999", "-0E-99999999999999999999"},
		{"1", "1.0", "1e0", "10e-1", "0.1e1", "0.001e3", "100E-02", "1e+0", "1.000000"},
		{"-1", "-1.0", "-10e-1"},
		{"1e400", "10e399", "0.1e401", "1000e+397"},
		{"0.1", "1e-1", "0.10", "100e-3"},
		{"9007199254740992", "9007199254740992.0", "9.007199254740992e15"},
		{"9007199254740993", "9007199254740993.00"},
		{"18446744073709551615", "1844674407370955161.5e1"},
		{"18446744073709551616", "1.8446744073709551616e19", "18446744073709551616.0", "184467440737.09551616e8"},
		{"1e" + huge, "10e" + huge[:29] + "8", "0.1e1" + strings.Repeat("0", 30), "0.01e1" + strings.Repeat("0", 29) + "1"},
		{"1e-" + huge, "10e-1" + strings.Repeat("0", 30), "0.1e-" + huge[:29] + "8"},
		{"1e" + huge[:29] + "8"},
		{"1e1" + strings.Repeat("0", 30)},
		{"1e999999999999999999", "0.1e1000000000000000000", "10e999999999999999998"},
		{"1e99999999999999999", "0.1e100000000000000000"},
		{"1e100000000000000000"},
		{"1e-1000000000000000000", "10e-1000000000000000001", "0.1e-999999999999999999"},
		{"12345678901234567890123", "1.2345678901234567890123e22", "0.012345678901234567890123e24", "123456789012345678901230e-1"},
		{"-12345678901234567890123"},
		{"12345678901234567890124"},
		{"1234567890123456789012.4"},
	} {
		for _, other := range []string{"2", "1.5", "1e5", "12345678901234567890125", "1e" + huge + "9"} {
			a, b := mustDecimal(t, group[0]), mustDecimal(t, other)
			assert.False(t, a.equal(&b), "%s and %s", group[0], other)
		}
		for _, x := range group {
			for _, y := range group {
				a, b := mustDecimal(t, x), mustDecimal(t, y)
				assert.True(t, a.equal(&b), "%s and %s", x, y)
			}
		}
	}
	for _, c := range [][2]string{
		{"1", "-1"}, {"1", "10"}, {"0.1", "0.10000000000000001"}, {"9007199254740992", "9007199254740993"},
		{"1e400", "1e401"}, {"1e400", "1e-400"}, {"1e" + huge, "1e-" + huge}, {"1e" + huge, "1e" + huge[1:]},
		{"1e-400", "0"}, {"0.30000000000000004", "0.3"},
		{"12345678901234567890123", "12345678901234567890123.4"}, {"1.2345678901234567890123", "12345678901234567890123"}, {"12345678901234567890123", "1234567890123456789012.3"},
	} {
		a, b := mustDecimal(t, c[0]), mustDecimal(t, c[1])
		assert.False(t, a.equal(&b), "%s and %s", c[0], c[1])
		assert.False(t, b.equal(&a), "%s and %s", c[1], c[0])
	}
}

func TestOnlyTheGrammarOfJSONIsANumber(t *testing.T) {
	for _, s := range []string{
		"", "-", "+1", "01", "-01", "00", "1.", ".5", "1e", "1e+", "1e-", "1.e1", "NaN", "Infinity", "-Inf", "0x10",
		"1_000", " 1", "1 ", "1\n", "1e5.0", "1e1e1", "--1", "1.2.3", "null", "٣", "1\x00",
	} {
		_, ok := parseDecimal(s)
		assert.False(t, ok, "%q", s)
		assert.False(t, json.Valid([]byte(strings.TrimSpace(s))) && s == strings.TrimSpace(s) && s != "null", "%q", s)
	}
}

// TestRandomNumbersCompareAsRationals holds equal against math/big over numbers small enough for it, many of them
// two spellings of one value.
func TestRandomNumbersCompareAsRationals(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	same, bigs := 0, 0
	for range 40_000 {
		x := randomNumber(r)
		y := randomNumber(r)
		if r.IntN(2) == 0 {
			y = respell(r, x)
		}
		a, b := mustDecimal(t, x), mustDecimal(t, y)
		p, ok := new(big.Rat).SetString(x)
		require.True(t, ok, x)
		q, ok := new(big.Rat).SetString(y)
		require.True(t, ok, y)
		want := p.Cmp(q) == 0
		require.Equal(t, want, a.equal(&b), "%s and %s", x, y)
		if want {
			same++
		}
		if a.big {
			bigs++
		}
	}
	assert.Greater(t, same, 5_000, "a comparison that never says yes proves nothing")
	assert.Greater(t, bigs, 5_000, "both forms are compared")
}

func randomNumber(r *rand.Rand) string {
	var b strings.Builder
	if r.IntN(3) == 0 {
		b.WriteByte('-')
	}
	digits := func(n int) {
		for range n {
			b.WriteByte("00012359"[r.IntN(8)])
		}
	}
	if r.IntN(3) == 0 {
		b.WriteByte('0')
	} else {
		b.WriteByte("1239"[r.IntN(4)])
		digits(r.IntN(24))
	}
	if r.IntN(2) == 0 {
		b.WriteByte('.')
		digits(1 + r.IntN(24))
	}
	if r.IntN(2) == 0 {
		b.WriteByte("eE"[r.IntN(2)])
		b.WriteString([]string{"", "+", "-"}[r.IntN(3)])
		b.WriteString(strconv.Itoa(r.IntN(40)))
	}
	return b.String()
}

// respell writes x in another way: more zeros behind, the point moved, another exponent.
func respell(r *rand.Rand, x string) string {
	mant, exp, _ := strings.Cut(strings.ToLower(x), "e")
	e, _ := strconv.Atoi(exp)
	sign := ""
	if mant[0] == '-' {
		sign, mant = "-", mant[1:]
	}
	whole, frac, _ := strings.Cut(mant, ".")
	frac += strings.Repeat("0", r.IntN(4))
	for range r.IntN(30) {
		if r.IntN(2) == 0 {
			if frac == "" {
				frac = "0"
			}
			whole, frac, e = whole+frac[:1], frac[1:], e-1
		} else {
			frac, e = whole[len(whole)-1:]+frac, e+1
			whole = whole[:len(whole)-1]
			if whole == "" {
				whole = "0"
			}
		}
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if frac != "" {
		frac = "." + frac
	}
	return sign + whole + frac + "e" + strconv.Itoa(e)
}

func TestNumbersOfGoEqualWhatTheyAreWrittenAs(t *testing.T) {
	for _, i := range []int64{0, 1, -1, 10, -1200, math.MaxInt64, math.MinInt64, 1 << 53, 1<<53 + 1} {
		got, want := decimalOfInt(i), mustDecimal(t, strconv.FormatInt(i, 10))
		assert.True(t, got.equal(&want), "%d", i)
		assert.Equal(t, want, got, "one value has one form: %d", i)
	}
	for _, u := range []uint64{0, 7, 1e19, math.MaxUint64} {
		got, want := decimalOfUint(u), mustDecimal(t, strconv.FormatUint(u, 10))
		assert.Equal(t, want, got, "%d", u)
	}
	r := rand.New(rand.NewPCG(7, 7))
	floats := []float64{0, math.Copysign(0, -1), 0.1, 1, 1e21, 1e-7, math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53, 5e-324, 123456789.125}
	for range 20_000 {
		if f := math.Float64frombits(r.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
			floats = append(floats, f)
		}
	}
	for _, f := range floats {
		text, err := json.Marshal(f)
		require.NoError(t, err)
		want := mustDecimal(t, string(text))
		got, ok := decimalOfFloat(f, 64)
		require.True(t, ok)
		require.Equal(t, want, got, "%v", f)
		back, ok := want.float()
		require.True(t, ok, "%v is written as a number that reads back", f)
		require.Equal(t, f, back)
	}
	for _, f := range []float32{0.1, 1.5, math.MaxFloat32, 16777216} {
		text, err := json.Marshal(f)
		require.NoError(t, err)
		got, ok := decimalOfFloat(float64(f), 32)
		require.True(t, ok)
		assert.Equal(t, mustDecimal(t, string(text)), got, "%v", f)
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, ok := decimalOfFloat(f, 64)
		assert.False(t, ok)
	}
}

func TestNumbersThatAFloat64Changes(t *testing.T) {
	for s, exact := range map[string]bool{
		"0": true, "-0": true, "0e999999999999999999999": true, "0.1": true, "1.0": true, "1e22": true,
		"9007199254740992": true, "9007199254740993": false, "9007199254740993.0": false, "1e400": false, "-1e400": false,
		"1e-400": false, "1e308": true, "1.7976931348623157e308": true, "1.7976931348623158e308": false,
		"1.7976931348623159e308": false, "5e-324": true, "4e-324": false, "2e-324": false, "0.10000000000000001": false,
		"0.1000000000000000055511151231257827021181583404541015625": false, "123456789012345678": false,
		"100000000000000000000000000000000000000000": true, "1e999999999": false, "1e-999999999": false,
		"0." + strings.Repeat("0", 1_000_000) + "1e1000001": true,
		"1" + strings.Repeat("0", 1_000_000) + "e-1000000":  true,
		"1e99999999999999999999999999999999":                false,
	} {
		d := mustDecimal(t, s)
		_, ok := d.float()
		assert.Equal(t, exact, ok, "%.60s", s)
	}
}

func TestNumbersCostNoMoreThanTheirText(t *testing.T) {
	texts := []string{
		strings.Repeat("9", 1<<20), "1e" + strings.Repeat("9", 1<<20), "0." + strings.Repeat("0", 1<<20) + "1",
		"1" + strings.Repeat("0", 1<<20), strings.Repeat("7", 1<<19) + "." + strings.Repeat("3", 1<<19) + "e-999999999",
		"1e999999999", "12.5", "-0",
	}
	clones := make([]string, len(texts))
	for i, s := range texts {
		clones[i] = strings.Clone(s)
	}
	start := time.Now()
	allocs := testing.AllocsPerRun(1, func() {
		for i := range texts {
			a, ok := parseDecimal(texts[i])
			b, _ := parseDecimal(clones[i])
			if !ok || !a.equal(&b) {
				t.Errorf("%.20q does not equal itself", texts[i])
			}
			a.float()
		}
	})
	assert.Zero(t, allocs)
	assert.Less(t, time.Since(start), 5*time.Second)
}
