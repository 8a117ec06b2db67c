// Taking JSON apart without reading it: the members of an object and the elements of a list, as the bytes they came in.
//
// encoding/json would do for honest servers. But it takes the last of two equal keys and matches keys without case, and
// what has been decoded and encoded again has lost just what a fingerprint has to see. So the texts are cut, not decoded.

package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep the definition of a tool may be nested: the engine's own bound.
const maxDepth = 128

var errNoObject = errors.New("it is not a JSON object")
var errNoArray = errors.New("it is not a JSON array")

// member is one member of an object. The value shares memory with the text.
type member struct {
	name  string
	value []byte
}

// lenient reads what may hold anything that two readers could read in two ways; strict refuses it.
func lenient(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func strict(text []byte) *jsontext.Decoder { return jsontext.NewDecoder(bytes.NewBuffer(text)) }

// members returns the members of the object that text is, duplicates included, in order.
func members(text []byte) ([]member, error) {
	d := lenient(text)
	if d.PeekKind() != '{' {
		return nil, errNoObject
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var ms []member
	for d.PeekKind() != '}' {
		key, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: key.String()}
		if m.value, err = next(d, text); err != nil {
			return nil, err
		}
		ms = append(ms, m)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	return ms, atEnd(d)
}

// elements returns the elements of the array that text is.
func elements(text []byte) ([][]byte, error) {
	d := lenient(text)
	if d.PeekKind() != '[' {
		return nil, errNoArray
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var es [][]byte
	for d.PeekKind() != ']' {
		e, err := next(d, text)
		if err != nil {
			return nil, err
		}
		es = append(es, e)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	return es, atEnd(d)
}

// next returns the bytes of the next value as they stand in text.
func next(d *jsontext.Decoder, text []byte) ([]byte, error) {
	v, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(d.InputOffset())
	return text[end-len(v) : end : end], nil
}

func atEnd(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != io.EOF {
		return errors.New("something follows the JSON value")
	}
	return nil
}

// find returns the value of a key, and how often it stands there.
func find(ms []member, key string) (value []byte, times int) {
	for _, m := range ms {
		if m.name == key {
			value = m.value
			times++
		}
	}
	return value, times
}

// text returns the string that a JSON text is, and false for anything else: another type, invalid UTF-8 and lone
// surrogates.
func text(value []byte) (string, bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	d := strict(value)
	t, err := d.ReadToken()
	if err != nil {
		return "", false
	}
	s := t.String()
	return s, utf8.ValidString(s)
}

func isNull(value []byte) bool   { return len(value) > 0 && value[0] == 'n' }
func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// checkStrict refuses what two readers could read in two ways, and what is nested too deep.
func checkStrict(value []byte) error {
	d := strict(value)
	for first := true; first || d.StackDepth() > 0; first = false {
		if _, err := d.ReadToken(); err != nil {
			return fmt.Errorf("not strict JSON: %w", err)
		}
		if d.StackDepth() > maxDepth {
			return fmt.Errorf("nested more than %d deep", maxDepth)
		}
	}
	return atEnd(d)
}

// object writes an object of members, as they are.
func object(ms []member) []byte {
	out := []byte{'{'}
	for i, m := range ms {
		if i > 0 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, m.name)
		out = append(out, ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}
