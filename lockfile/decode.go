package lockfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-mcp/penstock/engine"
)

// Decode reads a file from data; name is for messages.
//
// The error is an *[Error]. It holds what is wrong with the JSON, if anything is: not UTF-8, cut off, duplicate keys,
// data behind it. Besides, it holds every unknown key, missing key, value of the wrong type or of another version,
// server id that no server can have, target that stands twice, and every fingerprint, digest and definition that do
// not fit each other. With an error there is no file.
//
// Cost: O(n log n) in the size of data, which is at most [MaxSize] bytes. Decode does not keep data.
func Decode(name string, data []byte) (*File, error) {
	r := &reader{name: name, data: data}
	switch {
	case len(data) > MaxSize:
		r.fail(0, "", ErrTooLarge)
	case len(bytes.TrimLeft(data, " \t\r\n")) == 0:
		r.fail(0, "", errEmpty)
	case bytes.HasPrefix(data, []byte("\uFEFF")):
		r.fail(0, "", errors.New("a byte order mark stands before the JSON"))
	case !utf8.Valid(data):
		r.fail(badByte(data), "", errors.New("the file is not UTF-8"))
	default:
		r.dec = jsontext.NewDecoder(newBuffer(data))
		if err := r.file(); err != nil {
			r.syntax(err)
		}
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return &r.out, nil
}

var errEmpty = errors.New(`the file is empty (a baseline without tools is {"version": 1, "tools": []})`)

// maxProblems is how many problems an error lists: enough for what a person repairs, and a bound for hostile files.
const maxProblems = 50

// reader walks over one file once.
type reader struct {
	name string
	data []byte
	dec  *jsontext.Decoder
	out  File

	problems []*EntryError
	more     int // problems that are not in the list
	version  bool
	tools    bool
	unsorted bool
	at       map[engine.Target]int32 // the line each entry begins in
	lines    lineCounter
}

// file reads the whole file. An error is one of the JSON; everything else goes to problems.
func (r *reader) file() error {
	start, err := r.object("", "a baseline", func(key string, at int64) error {
		switch key {
		case "version":
			return r.readVersion()
		case "tools":
			return r.readTools()
		default:
			return r.unknown(at, "", key, "version", "tools")
		}
	})
	if err != nil {
		return err
	}
	end := r.dec.InputOffset()
	if more := bytes.TrimLeft(r.data[end:], " \t\r\n"); len(more) > 0 {
		r.fail(int64(len(r.data)-len(more)), "", errors.New("more data behind the baseline"))
	}
	if start < 0 {
		return nil
	}
	for _, k := range []struct {
		key string
		has bool
	}{{"version", r.version}, {"tools", r.tools}} {
		if !k.has {
			r.fail(start, "", fmt.Errorf(`the key %q is missing (a baseline is {"version": 1, "tools": […]})`, k.key))
		}
	}
	keepsNone := len(r.out.entries) > 0
	for i := range r.out.entries {
		keepsNone = keepsNone && r.out.entries[i].Definition == nil
	}
	r.out.digestsOnly = keepsNone
	if r.unsorted {
		slices.SortFunc(r.out.entries, compareEntries)
	}
	return nil
}

func (r *reader) readVersion() error {
	r.version = true
	v, at, err := r.value("version", '0')
	if err == nil && v != nil && string(v) != "1" {
		r.fail(at, "", fmt.Errorf("baseline version %s: this penstock reads version %d", clip(string(v)), version))
	}
	return err
}

func (r *reader) readTools() error {
	r.tools = true
	if ok, err := r.open("tools", '['); !ok {
		return err
	}
	r.at = make(map[engine.Target]int32)
	for i := 0; r.dec.PeekKind() != ']'; i++ {
		if err := r.entry(fmt.Sprintf("tools[%d]", i)); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return err
}

// object reads an object and calls member for each key, which reads the value. It returns where the object begins, or
// -1 where there is something else.
func (r *reader) object(path, what string, member func(key string, at int64) error) (int64, error) {
	if ok, err := r.openAs(path, what, '{'); !ok {
		return -1, err
	}
	start := r.dec.InputOffset() - 1
	for r.dec.PeekKind() != '}' {
		raw, err := r.dec.ReadValue()
		if err != nil {
			return start, err
		}
		at := r.dec.InputOffset() - int64(len(raw))
		key, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return start, err
		}
		if err := member(string(key), at); err != nil {
			return start, err
		}
	}
	_, err := r.dec.ReadToken()
	return start, err
}

func (r *reader) open(path string, want jsontext.Kind) (bool, error) {
	return r.openAs(path, "", want)
}

// openAs reads the beginning of an object or a list. Where something else stands it reports that and skips it.
func (r *reader) openAs(path, what string, want jsontext.Kind) (bool, error) {
	if r.dec.PeekKind() != want {
		return false, r.wrongKind(path, what, want)
	}
	_, err := r.dec.ReadToken()
	return err == nil, err
}

// value reads a value of the given kind and returns where it begins. Where something else stands it reports that and
// returns nil.
func (r *reader) value(path string, want jsontext.Kind) (jsontext.Value, int64, error) {
	if r.dec.PeekKind() != want {
		return nil, 0, r.wrongKind(path, "", want)
	}
	v, err := r.dec.ReadValue()
	return v, r.dec.InputOffset() - int64(len(v)), err
}

// text reads a string.
func (r *reader) text(path string) (s string, at int64, ok bool, err error) {
	v, at, err := r.value(path, '"')
	if v == nil || err != nil {
		return "", at, false, err
	}
	plain, err := jsontext.AppendUnquote(nil, v)
	return string(plain), at, err == nil, err
}

func (r *reader) wrongKind(path, what string, want jsontext.Kind) error {
	got := r.dec.PeekKind()
	v, err := r.dec.ReadValue()
	if err != nil {
		return err
	}
	if what != "" {
		what += " is "
	} else {
		what = "want "
	}
	r.fail(r.dec.InputOffset()-int64(len(v)), path, fmt.Errorf("%s%s, not %s", what, kindName(want), kindName(got)))
	return nil
}

// unknown reports a key and skips its value.
func (r *reader) unknown(at int64, path, key string, known ...string) error {
	r.fail(at, path, fmt.Errorf("unknown key %s (the keys here are %s)", quote(key), strings.Join(known, ", ")))
	return r.dec.SkipValue()
}

func (r *reader) fail(at int64, path string, err error) {
	if len(r.problems) >= maxProblems {
		r.more++
		return
	}
	r.problems = append(r.problems, &EntryError{Position: r.position(at), Path: path, Err: err})
}

// syntax reports why the file is not JSON.
func (r *reader) syntax(err error) {
	at := r.dec.InputOffset()
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), err == io.EOF:
		at, err = int64(len(r.data)), errors.New("the file ends too early")
	case errors.As(err, &syntactic) && errors.Is(err, jsontext.ErrDuplicateName):
		at, err = syntactic.ByteOffset, fmt.Errorf("the key %s stands twice", quote(syntactic.JSONPointer.LastToken()))
	case errors.As(err, &syntactic):
		at = syntactic.ByteOffset
		err = errors.New("not JSON: " + strings.TrimPrefix(syntactic.Err.Error(), "jsontext: "))
		if r.conflict(at) {
			err = errors.New("a merge conflict is not resolved here")
		}
	}
	r.fail(at, "", err)
}

// conflict reports whether the line with offset at is one that a merge leaves behind.
func (r *reader) conflict(at int64) bool {
	at = min(at, int64(len(r.data)))
	line := bytes.TrimLeft(r.data[bytes.LastIndexByte(r.data[:at], '\n')+1:], " \t\r\n")
	for _, mark := range []string{"<<<<<<<", "=======", ">>>>>>>"} {
		if bytes.HasPrefix(line, []byte(mark)) {
			return true
		}
	}
	return false
}

func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	if r.more > 0 {
		last := r.problems[len(r.problems)-1]
		r.problems = append(r.problems, &EntryError{Position: last.Position, Err: fmt.Errorf("and %d more problems from here on", r.more)})
	}
	slices.SortStableFunc(r.problems, func(a, b *EntryError) int {
		return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
	})
	return &Error{Entries: r.problems}
}

func (r *reader) position(at int64) engine.Position {
	line, column := r.lines.at(r.data, at)
	return engine.Position{File: r.name, Line: line, Column: column}
}

// lineCounter turns offsets into lines and columns. It goes on from where it was, so that many problems in the order of
// the file cost one pass.
type lineCounter struct {
	offset, begin int64 // of the last place, and of its line
	line          int32
}

func (c *lineCounter) at(data []byte, at int64) (line, column int32) {
	at = min(max(at, 0), int64(len(data)))
	if c.line == 0 || at < c.offset {
		*c = lineCounter{line: 1}
	}
	between := data[c.offset:at]
	if n := bytes.Count(between, []byte("\n")); n > 0 {
		c.line += int32(n)
		c.begin = c.offset + int64(bytes.LastIndexByte(between, '\n')) + 1
	}
	c.offset = at
	return c.line, int32(at-c.begin) + 1
}

func badByte(data []byte) int64 {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return int64(i)
		}
		i += n
	}
	return 0
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	default:
		return "null"
	}
}

func clip(s string) string {
	if len(s) > maxQuoted {
		return s[:maxQuoted] + "…"
	}
	return s
}
