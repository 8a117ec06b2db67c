package fuzz

import (
	"fmt"
	"math"
	"math/big"
	"sort"
	"strconv"
	"strings"
)

// This file holds the exact value of a JSON number, and the canonical text of a definition.

// decimal is the value of a number: digits without zeros at either end, times ten to exp. Zero has no digits.
type decimal struct {
	negative bool
	digits   string
	exp      string // a whole number
}

// readDecimal returns the exact value of a JSON number.
func readDecimal(text string) decimal {
	d := decimal{negative: strings.HasPrefix(text, "-")}
	text = strings.TrimPrefix(text, "-")
	exp := new(big.Int)
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exp.SetString(strings.TrimPrefix(text[i+1:], "+"), 10)
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	exp.Sub(exp, big.NewInt(int64(len(fraction))))
	d.digits = strings.TrimLeft(whole+fraction, "0")
	for strings.HasSuffix(d.digits, "0") {
		d.digits = strings.TrimSuffix(d.digits, "0")
		exp.Add(exp, big.NewInt(1))
	}
	if d.digits == "" {
		return decimal{}
	}
	d.exp = exp.String()
	return d
}

// scientific returns the number as 0.digits and an exponent, which is as small as it can be: strconv gives up on large
// ones, also where a long fraction makes up for them.
func (d decimal) scientific() string {
	if d.digits == "" {
		return "0"
	}
	exp, _ := new(big.Int).SetString(d.exp, 10)
	exp.Add(exp, big.NewInt(int64(len(d.digits))))
	sign := ""
	if d.negative {
		sign = "-"
	}
	return sign + "0." + d.digits + "e" + exp.String()
}

// Fingerprint returns a text that two raw definitions share exactly if section 5.5 gives them one fingerprint, and
// an error where there is no fingerprint. It is no hash: what is hashed is all that matters here.
func Fingerprint(raw string) (string, error) {
	n, err := readJSON(raw, 128)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := n.canonical(&b); err != nil {
		return "", err
	}
	return b.String(), nil
}

func (n *node) canonical(b *strings.Builder) error {
	switch n.kind {
	case 'n':
		b.WriteString("null")
	case 't':
		fmt.Fprint(b, n.yes)
	case 's':
		fmt.Fprintf(b, "%+q", n.text)
	case '0':
		// "numbers whose decimal value changes when written back from a float64 … are errors"
		f, _ := strconv.ParseFloat(readDecimal(n.text).scientific(), 64)
		if math.IsInf(f, 0) || readDecimal(strconv.FormatFloat(f, 'e', -1, 64)) != readDecimal(n.text) {
			return fmt.Errorf("the number %s does not survive", n.text)
		}
		fmt.Fprintf(b, "%+v", readDecimal(n.text))
	case 'a':
		b.WriteByte('[')
		for _, item := range n.items {
			if err := item.canonical(b); err != nil {
				return err
			}
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case 'o':
		order := make([]int, len(n.keys))
		for i := range order {
			order[i] = i
		}
		sort.Slice(order, func(i, j int) bool { return n.keys[order[i]] < n.keys[order[j]] })
		b.WriteByte('{')
		for _, i := range order {
			fmt.Fprintf(b, "%+q:", n.keys[i])
			if err := n.items[i].canonical(b); err != nil {
				return err
			}
			b.WriteByte(',')
		}
		b.WriteByte('}')
	}
	return nil
}
