package engine

import (
	"math"
	"strconv"
)

// Numbers of JSON as exact decimals.
//
// The naive way is math/big: exact, and a kilobyte of input such as 1e999999999 makes it allocate a gigabyte.
// The other naive way is float64, in which 9007199254740993 equals 9007199254740992. Here a number stays text:
//
//	-12.500e3   =  -0.125 × 10^5    digits "12.5", shift 2, pow "3"
//
// Two numbers are equal when sign, digits (from the first to the last that is not zero, wherever the point
// stands in them) and the exponent shift+pow are. Nothing is ever expanded, so the cost is one pass over the
// text, exponents of any length included. Nearly all numbers fit in a second form, coef × 10^exp with machine
// integers, and compare with three ==; whether one fits depends on its value alone, never on how it is written,
// so a number in one form never equals one in the other.

// decimal is the exact value of one JSON number. The zero decimal is 0.
type decimal struct {
	neg bool // never of zero
	big bool // the value is in digits, pow and shift; else in coef and exp

	coef uint64 // no multiple of ten but 0
	exp  int64  // 0 where coef is, and within ±maxSmallExp

	digits string // first to last non-zero digit, with the point if it stands between them
	count  int    // digits in digits
	pow    string // digits of the written exponent, without leading zeros
	powNeg bool
	shift  int64 // the value is 0.digits × 10^(±pow+shift)
}

// maxSmallExp bounds exp. A written exponent of up to 18 digits fits an int64 with room for the shift, which is
// bounded by the length of a text; one of 19 digits or more is over 10^18, and no text is long enough to shift
// it back to 10^17. So the form follows from the value.
const maxSmallExp = 100_000_000_000_000_000

// parseDecimal returns the value of s, and whether s is a number by the grammar of JSON.
//
// Cost: one pass over s; it allocates nothing and keeps pieces of s.
func parseDecimal(s string) (d decimal, ok bool) {
	i := 0
	if i < len(s) && s[i] == '-' {
		d.neg = true
		i++
	}
	start := i
	i = skipDigits(s, i)
	if i == start || s[start] == '0' && i > start+1 {
		return decimal{}, false
	}
	point := i
	if i < len(s) && s[i] == '.' {
		end := skipDigits(s, i+1)
		if end == i+1 {
			return decimal{}, false
		}
		i = end
	}
	end := i
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			d.powNeg = s[i] == '-'
			i++
		}
		from := i
		i = skipDigits(s, i)
		if i == from {
			return decimal{}, false
		}
		for from < i && s[from] == '0' {
			from++
		}
		d.pow = s[from:i]
	}
	if i != len(s) {
		return decimal{}, false
	}
	d.trim(s, start, point, end)
	return d, true
}

// trim sets the digits from the mantissa s[start:end], whose point stands at point, and picks the form.
func (d *decimal) trim(s string, start, point, end int) {
	for start < end && (s[start] == '0' || s[start] == '.') {
		start++
	}
	if start == end {
		*d = decimal{}
		return
	}
	for s[end-1] == '0' || s[end-1] == '.' {
		end--
	}
	d.digits, d.count = s[start:end], end-start
	if start < point {
		d.shift = int64(point - start)
		if end > point {
			d.count--
		}
	} else {
		d.shift = -int64(start - point - 1)
	}
	pow, ok := d.smallPow()
	exp := pow + d.shift - int64(d.count)
	if coef, fits := smallCoef(d.digits); ok && fits && -maxSmallExp < exp && exp < maxSmallExp {
		*d = decimal{neg: d.neg, coef: coef, exp: exp}
		return
	}
	d.big = true
}

// smallPow returns the written exponent, and whether it has at most 18 digits.
func (d *decimal) smallPow() (pow int64, ok bool) {
	if len(d.pow) > 18 {
		return 0, false
	}
	for i := range len(d.pow) {
		pow = pow*10 + int64(d.pow[i]-'0')
	}
	if d.powNeg {
		pow = -pow
	}
	return pow, true
}

// smallCoef returns the digits as an integer, and whether it fits.
func smallCoef(digits string) (coef uint64, ok bool) {
	for i := range len(digits) {
		if digits[i] == '.' {
			continue
		}
		c := uint64(digits[i] - '0')
		if coef > (math.MaxUint64-c)/10 {
			return 0, false
		}
		coef = coef*10 + c
	}
	return coef, true
}

func skipDigits(s string, i int) int {
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i
}

// equal reports whether both are the same number.
//
// Cost: one pass over the shorter of the two texts; it allocates nothing.
func (d *decimal) equal(o *decimal) bool {
	if d.neg != o.neg || d.big != o.big {
		return false
	}
	if !d.big {
		return d.coef == o.coef && d.exp == o.exp
	}
	if d.count != o.count || !sameDigits(d.digits, o.digits) {
		return false
	}
	diff, ok := powDiff(d, o)
	return ok && diff == o.shift-d.shift
}

// sameDigits compares two runs of as many digits, wherever the point stands in each.
func sameDigits(a, b string) bool {
	for i, j := 0, 0; i < len(a) && j < len(b); i, j = i+1, j+1 {
		if a[i] == '.' {
			i++
		}
		if b[j] == '.' {
			j++
		}
		if a[i] != b[j] {
			return false
		}
	}
	return true
}

// powDiff returns the written exponent of a less that of b, and false where the difference is beyond every shift.
//
// It goes from the most significant digit down. Once the difference so far is not zero it never comes nearer to
// zero again (|10d ± 9| ≥ |d| for |d| ≥ 1), so past the bound nothing later can bring it back.
func powDiff(a, b *decimal) (diff int64, ok bool) {
	for i := max(len(a.pow), len(b.pow)); i > 0; i-- {
		diff = diff*10 + powDigit(a, i) - powDigit(b, i)
		if diff <= -maxSmallExp || maxSmallExp <= diff {
			return 0, false
		}
	}
	return diff, true
}

// powDigit returns the signed digit that stands i places from the right, from 1.
func powDigit(d *decimal, i int) int64 {
	if i > len(d.pow) {
		return 0
	}
	c := int64(d.pow[len(d.pow)-i] - '0')
	if d.powNeg {
		return -c
	}
	return c
}

// decimalOfInt returns the value of i.
func decimalOfInt(i int64) decimal {
	if i < 0 {
		d := decimalOfUint(-uint64(i))
		d.neg = true
		return d
	}
	return decimalOfUint(uint64(i))
}

// decimalOfUint returns the value of u.
func decimalOfUint(u uint64) decimal {
	if u == 0 {
		return decimal{}
	}
	d := decimal{coef: u}
	for d.coef%10 == 0 {
		d.coef /= 10
		d.exp++
	}
	return d
}

// decimalOfFloat returns the shortest decimal that reads back as f, which is what f is written as in JSON, and
// false for NaN and the infinities. The bits are 32 or 64.
func decimalOfFloat(f float64, bits int) (decimal, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return decimal{}, false
	}
	var buf [32]byte // -d.ddddddddddddddddde-ddd is 24 bytes
	text := strconv.AppendFloat(buf[:0], f, 'e', -1, bits)
	var d decimal
	if text[0] == '-' {
		d.neg = true
		text = text[1:]
	}
	i, point := 0, int64(0)
	for ; text[i] != 'e'; i++ {
		if text[i] == '.' {
			continue
		}
		d.coef = d.coef*10 + uint64(text[i]-'0')
		point++
	}
	if d.coef == 0 {
		return decimal{}, true
	}
	for _, c := range text[i+2:] {
		d.exp = d.exp*10 + int64(c-'0')
	}
	if text[i+1] == '-' {
		d.exp = -d.exp
	}
	d.exp -= point - 1
	return d, true // the shortest form ends in no zero
}

// float returns the float64 that is written as exactly this number, and false where there is none: where the
// number changes when it is read into a float64 and written back.
//
// Cost: constant; it allocates nothing.
func (d *decimal) float() (float64, bool) {
	// Every float64 lies between 10^-324 and 10^309 and is written with at most 17 digits.
	if d.big || d.exp < -400 || 400 < d.exp {
		return 0, false
	}
	var buf [32]byte
	text := strconv.AppendUint(buf[:0], d.coef, 10)
	text = append(text, 'e')
	text = strconv.AppendInt(text, d.exp, 10)
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return 0, false
	}
	if d.neg {
		f = -f
	}
	back, ok := decimalOfFloat(f, 64)
	return f, ok && back.equal(d)
}
