package policyfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// reader reads the members of a JSON object one by one. It goes over the text with a lenient decoder, since a tool's
// raw definition may hold anything, and over each other value with a strict one.
type reader struct {
	text []byte
	dec  *jsontext.Decoder
}

func (r *reader) reset() {
	r.dec = jsontext.NewDecoder(bytes.NewBuffer(r.text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// offset returns where the next value begins.
func (r *reader) offset() int64 {
	off := r.dec.InputOffset()
	for off < int64(len(r.text)) && strings.IndexByte(" \t\r\n:,", r.text[off]) >= 0 {
		off++
	}
	return off
}

func (r *reader) fail(path string, off int64, err error) error {
	return &RequestError{Path: path, Offset: off, Err: err}
}

func (r *reader) wrongType(path string, off int64, want string, got jsontext.Value) error {
	what := map[jsontext.Kind]string{'n': "null", 't': "true", 'f': "false", '"': "a string", '0': "a number", '{': "an object", '[': "a list"}
	return r.fail(path, off, fmt.Errorf("want %s, not %s", want, what[got.Kind()]))
}

// syntax returns the error for one that a decoder gave, which read from base on.
func (r *reader) syntax(path string, base int64, err error) error {
	off := r.dec.InputOffset()
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntactic):
		off, err = base+syntactic.ByteOffset, syntactic.Err
		if errors.Is(err, jsontext.ErrDuplicateName) {
			p := syntactic.JSONPointer
			return r.fail(path+string(p.Parent()), off, fmt.Errorf("duplicate key %s", quote(p.LastToken())))
		}
	case err == io.EOF:
		return r.fail(path, int64(len(r.text)), errors.New("there is nothing"))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return r.fail(path, int64(len(r.text)), errors.New("the JSON ends too early"))
	}
	return r.fail(path, off, jsonError{err})
}

// end checks that nothing follows.
func (r *reader) end() error {
	from := r.offset()
	switch _, err := r.dec.ReadToken(); err {
	case io.EOF:
		return nil
	default:
		return r.fail("", from, errors.New("something follows the object (one line holds one)"))
	}
}

// object reads an object with the given members; the first ones, as many as required says, must be there.
func (r *reader) object(path string, members []member, required int) error {
	from := r.offset()
	if r.dec.PeekKind() != '{' {
		v, err := r.dec.ReadValue()
		if err != nil {
			return r.syntax(path, 0, err)
		}
		return r.wrongType(path, from, "an object", v)
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return r.syntax(path, 0, err)
	}
	var seen uint32 // a bit for each member
	for r.dec.PeekKind() != '}' {
		var key string
		at := r.offset()
		if err := r.str(path, &key)(); err != nil {
			return err
		}
		i := findMember(members, key)
		if i < 0 {
			names := memberNames(members)
			hint := suggest(key, names)
			if hint == "" {
				hint = " (the keys here are " + list(names, "and") + ")"
			}
			return r.fail(path, at, fmt.Errorf("unknown key %s%s", quote(key), hint))
		}
		if seen&(1<<i) != 0 {
			return r.fail(path, at, fmt.Errorf("duplicate key %s", quote(key)))
		}
		seen |= 1 << i
		if err := members[i].read(); err != nil {
			return err
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return r.syntax(path, 0, err)
	}
	for i := range required {
		if seen&(1<<i) == 0 {
			return r.fail(path, from, fmt.Errorf("the key %q is missing", members[i].key))
		}
	}
	return nil
}

// list reads a list, calling item for each element.
func (r *reader) list(path string, item func(path string) error) error {
	from := r.offset()
	if r.dec.PeekKind() != '[' {
		v, err := r.dec.ReadValue()
		if err != nil {
			return r.syntax(path, 0, err)
		}
		return r.wrongType(path, from, "a list", v)
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return r.syntax(path, 0, err)
	}
	for i := 0; r.dec.PeekKind() != ']'; i++ {
		if err := item(fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	if err != nil {
		return r.syntax(path, 0, err)
	}
	return nil
}

// str returns a function that reads a string.
func (r *reader) str(path string, to *string) func() error {
	return func() error {
		from := r.offset()
		v, err := r.dec.ReadValue()
		if err != nil {
			return r.syntax(path, 0, err)
		}
		if v.Kind() != '"' {
			return r.wrongType(path, from, "a string", v)
		}
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return r.fail(path, from, jsonError{err})
		}
		*to = string(text)
		return nil
	}
}

func (r *reader) boolean(path string, to *bool) error {
	from := r.offset()
	v, err := r.dec.ReadValue()
	if err != nil {
		return r.syntax(path, 0, err)
	}
	if k := v.Kind(); k != 't' && k != 'f' {
		return r.wrongType(path, from, "true or false", v)
	}
	*to = v.Kind() == 't'
	return nil
}

// strict reads any value and checks it strictly. What it returns is valid until the next read.
func (r *reader) strict(path string) (from int64, v jsontext.Value, err error) {
	v, err = r.dec.ReadValue()
	if err != nil {
		return 0, nil, r.syntax(path, 0, err)
	}
	from = r.dec.InputOffset() - int64(len(v))
	if v.IsValid() {
		return from, v, nil
	}
	strict := jsontext.NewDecoder(bytes.NewBuffer(v))
	_, err = strict.ReadValue()
	return from, nil, r.syntax(path, from, err)
}

// strictObject reads an object with any members, or, if it may be, null.
func (r *reader) strictObject(path string, orNull bool) (map[string]any, error) {
	from, v, err := r.strict(path)
	if err != nil {
		return nil, err
	}
	switch {
	case v.Kind() == '{':
		object, err := decodeValue(jsontext.NewDecoder(bytes.NewBuffer(v)))
		if err != nil {
			return nil, r.syntax(path, from, err)
		}
		return object.(map[string]any), nil
	case v.Kind() == 'n' && orNull:
		return nil, nil
	default:
		return nil, r.wrongType(path, from, "an object", v)
	}
}

// decodeValue reads the next value as encoding/json does with UseNumber.
func decodeValue(d *jsontext.Decoder) (any, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return t.Bool(), nil
	case '"':
		return t.String(), nil
	case '0':
		return json.Number(t.String()), nil
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			item, err := decodeValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := d.ReadToken()
		return list, err
	default:
		object := map[string]any{}
		for d.PeekKind() != '}' {
			key, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			name := key.String()
			if object[name], err = decodeValue(d); err != nil {
				return nil, err
			}
		}
		_, err := d.ReadToken()
		return object, err
	}
}
