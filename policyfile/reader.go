package policyfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-mcp/penstock/engine"
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

func (r *reader) fail(at *path, off int64, err error) error {
	return &RequestError{Path: at.String(), Offset: off, Err: err}
}

func (r *reader) wrongType(at *path, off int64, want string, got jsontext.Value) error {
	what := map[jsontext.Kind]string{'n': "null", 't': "true", 'f': "false", '"': "a string", '0': "a number", '{': "an object", '[': "a list"}
	return r.fail(at, off, fmt.Errorf("want %s, not %s", want, what[got.Kind()]))
}

// syntax returns the error for one that a decoder gave, which read from base on.
func (r *reader) syntax(at *path, base int64, err error) error {
	off := r.dec.InputOffset()
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntactic):
		off, err = base+syntactic.ByteOffset, syntactic.Err
		if errors.Is(err, jsontext.ErrDuplicateName) {
			p := syntactic.JSONPointer
			err = fmt.Errorf("duplicate key %s", quote(p.LastToken()))
			return &RequestError{Path: at.String() + string(p.Parent()), Offset: off, Err: err}
		}
	case err == io.EOF:
		return r.fail(at, int64(len(r.text)), errors.New("there is nothing"))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return r.fail(at, int64(len(r.text)), errors.New("the JSON ends too early"))
	}
	return r.fail(at, off, jsonError{err})
}

// end checks that nothing follows.
func (r *reader) end() error {
	from := r.offset()
	if _, err := r.dec.ReadToken(); err != io.EOF {
		return r.fail(nil, from, errors.New("something follows the object (one line holds one)"))
	}
	return nil
}

// member is one key of an object: where its string goes, or what reads its value.
type member struct {
	key  string
	str  *string
	read func(at *path) error
}

// object reads an object with the given members, 32 at most; the first ones, as many as required says, must be there.
func (r *reader) object(at *path, members []member, required int) error {
	from, err := r.open(at, '{', "an object")
	if err != nil {
		return err
	}
	var seen uint32 // a bit for each member
	for r.dec.PeekKind() != '}' {
		keyAt := r.offset()
		var key string
		if err := r.str(at, &key); err != nil {
			return err
		}
		i := 0
		for i < len(members) && members[i].key != key {
			i++
		}
		switch {
		case i == len(members):
			return r.unknownKey(at, keyAt, key, members)
		case seen&(1<<i) != 0:
			return r.fail(at, keyAt, fmt.Errorf("duplicate key %s", quote(key)))
		}
		seen |= 1 << i
		m := &members[i]
		if m.read != nil {
			err = m.read(at.child(m.key))
		} else {
			err = r.str(at.child(m.key), m.str)
		}
		if err != nil {
			return err
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return r.syntax(at, 0, err)
	}
	for i := range required {
		if seen&(1<<i) == 0 {
			return r.fail(at, from, fmt.Errorf("the key %q is missing", members[i].key))
		}
	}
	return nil
}

func (r *reader) unknownKey(at *path, off int64, key string, members []member) error {
	names := make([]string, len(members))
	for i := range members {
		names[i] = members[i].key
	}
	hint := suggest(key, names)
	if hint == "" {
		hint = " (the keys here are " + list(names, "and") + ")"
	}
	return r.fail(at, off, fmt.Errorf("unknown key %s%s", quote(key), hint))
}

// list reads a list, calling item for each element.
func (r *reader) list(at *path, item func(at *path) error) error {
	if _, err := r.open(at, '[', "a list"); err != nil {
		return err
	}
	for i := 0; r.dec.PeekKind() != ']'; i++ {
		if err := item(at.at(i)); err != nil {
			return err
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return r.syntax(at, 0, err)
	}
	return nil
}

// open reads the bracket that begins an object or a list.
func (r *reader) open(at *path, bracket jsontext.Kind, want string) (from int64, err error) {
	from = r.offset()
	if r.dec.PeekKind() != bracket {
		v, err := r.dec.ReadValue()
		if err != nil {
			return from, r.syntax(at, 0, err)
		}
		return from, r.wrongType(at, from, want, v)
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return from, r.syntax(at, 0, err)
	}
	return from, nil
}

// str reads a string.
func (r *reader) str(at *path, to *string) error {
	from := r.offset()
	v, err := r.dec.ReadValue()
	if err != nil {
		return r.syntax(at, 0, err)
	}
	if v.Kind() != '"' {
		return r.wrongType(at, from, "a string", v)
	}
	if plain := v[1 : len(v)-1]; bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		*to = string(plain)
		return nil
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return r.fail(at, from, jsonError{err})
	}
	*to = string(text)
	return nil
}

func (r *reader) boolean(at *path, to *bool) error {
	from := r.offset()
	v, err := r.dec.ReadValue()
	if err != nil {
		return r.syntax(at, 0, err)
	}
	if k := v.Kind(); k != 't' && k != 'f' {
		return r.wrongType(at, from, "true or false", v)
	}
	*to = v.Kind() == 't'
	return nil
}

// raw keeps any value but null byte for byte, whatever it holds.
func (r *reader) raw(at *path, to *json.RawMessage) error {
	v, err := r.dec.ReadValue()
	if err != nil {
		return r.syntax(at, 0, err)
	}
	if v.Kind() != 'n' {
		*to = json.RawMessage(bytes.Clone(v))
	}
	return nil
}

// strict reads any value and checks it strictly. What it returns is valid until the next read.
func (r *reader) strict(at *path) (from int64, v jsontext.Value, err error) {
	v, err = r.dec.ReadValue()
	if err != nil {
		return 0, nil, r.syntax(at, 0, err)
	}
	from = r.dec.InputOffset() - int64(len(v))
	if v.IsValid() {
		return from, v, nil
	}
	_, err = jsontext.NewDecoder(bytes.NewBuffer(v)).ReadValue()
	return from, nil, r.syntax(at, from, err)
}

// hints reads the annotations of a tool.
func (r *reader) hints(at *path, to *engine.Hints) error {
	from, v, err := r.strict(at)
	if err != nil {
		return err
	}
	if k := v.Kind(); k != '{' && k != 'n' {
		return r.wrongType(at, from, "an object", v)
	}
	*to, err = engine.HintsFromJSON(v)
	if err != nil {
		return r.fail(at, from, err)
	}
	return nil
}

// strictObject reads an object with any members, or, if it may be, null.
func (r *reader) strictObject(at *path, orNull bool) (map[string]any, error) {
	v, err := r.dec.ReadValue()
	if err != nil {
		return nil, r.syntax(at, 0, err)
	}
	from := r.dec.InputOffset() - int64(len(v))
	switch {
	case v.Kind() == '{':
		object, err := decodeValue(jsontext.NewDecoder(bytes.NewBuffer(v)))
		if err != nil {
			return nil, r.syntax(at, from, err)
		}
		return object.(map[string]any), nil
	case v.Kind() == 'n' && orNull:
		return nil, nil
	default:
		return nil, r.wrongType(at, from, "an object", v)
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
