package policyfile

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonReader makes a tree of a JSON document.
type jsonReader struct {
	dec   *jsontext.Decoder
	lines *lines
	ps    *problems
}

// errTooDeep says that a problem was reported and reading cannot go on.
var errTooDeep = errors.New("too deep")

// readJSON returns the tree of the JSON document text, and whether text is JSON at all; if not, the problem says
// where. What else is wrong with it goes to ps.
func readJSON(text []byte, l *lines, ps *problems) (root *node, notJSON *EntryError) {
	r := &jsonReader{
		// Duplicate keys are for the tree, which reports all of them.
		dec:   jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true)),
		lines: l,
		ps:    ps,
	}
	root = new(node)
	err := r.value(root, nil, 0)
	if err == nil {
		if _, err = r.dec.ReadToken(); err == io.EOF {
			return root, nil
		}
		if err == nil {
			err = errors.New("there is more behind the document")
		}
	}
	if err == errTooDeep {
		return nil, nil
	}
	off := r.dec.InputOffset()
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		off, err = syntactic.ByteOffset, syntactic.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		off, err = int64(len(text)), errors.New("the document ends too early")
	}
	n := node{}
	n.line, n.col = l.at(int(min(off, int64(len(text)))))
	return nil, &EntryError{Position: n.place(ps.file), Err: jsonError{err}}
}

// jsonError is what the JSON reader says, without its package's name.
type jsonError struct{ err error }

func (e jsonError) Error() string { return "JSON: " + strings.TrimPrefix(e.err.Error(), "jsontext: ") }
func (e jsonError) Unwrap() error { return e.err }

// value reads the next value into n.
func (r *jsonReader) value(n *node, at *path, depth int) error {
	switch k := r.dec.PeekKind(); k {
	case '{', '[':
		if _, err := r.dec.ReadToken(); err != nil {
			return err
		}
		r.place(n, 1)
		if depth++; depth > maxDepth {
			r.ps.add(n, nil, "the document nests deeper than %d", maxDepth)
			return errTooDeep
		}
		if k == '[' {
			return r.list(n, at, depth)
		}
		return r.object(n, at, depth)
	default:
		return r.scalar(n)
	}
}

func (r *jsonReader) list(n *node, at *path, depth int) error {
	n.kind = kindList
	for r.dec.PeekKind() != ']' {
		var item node
		if err := r.value(&item, at.at(len(n.items)), depth); err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := r.dec.ReadToken()
	return err
}

func (r *jsonReader) object(n *node, at *path, depth int) error {
	n.kind = kindObject
	for r.dec.PeekKind() != '}' {
		var key, item node
		if err := r.scalar(&key); err != nil {
			return err
		}
		if err := r.value(&item, at.child(key.text), depth); err != nil {
			return err
		}
		n.keys, n.items = append(n.keys, key), append(n.items, item)
	}
	n.checkDuplicates(r.ps, at)
	_, err := r.dec.ReadToken()
	return err
}

// scalar reads a string, number, boolean or null.
func (r *jsonReader) scalar(n *node) error {
	v, err := r.dec.ReadValue()
	if err != nil {
		return err
	}
	r.place(n, len(v))
	switch v.Kind() {
	case '"':
		n.kind = kindString
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return err
		}
		n.text = string(text)
	case '0':
		n.kind, n.text = kindNumber, string(v)
	case 't', 'f':
		n.kind, n.text = kindBool, string(v)
	default:
		n.kind = kindNull
	}
	return nil
}

// place notes where the value stands that was just read and has size bytes.
func (r *jsonReader) place(n *node, size int) {
	n.line, n.col = r.lines.at(int(r.dec.InputOffset()) - size)
}
