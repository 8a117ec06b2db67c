// Package source says where in a file something is wrong.
package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An Error says what is wrong with a file, and where.
type Error struct {
	File         string
	Line, Column int   // from 1; the column counts bytes
	Offset       int64 // into the file, in bytes
	Err          error
}

// Error begins with file:line:column.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Column, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// At returns err with an offset into the file it is about, for [Locate].
func At(offset int64, err error) error { return &offsetError{offset, err} }

type offsetError struct {
	offset int64
	err    error
}

func (e *offsetError) Error() string { return e.err.Error() }
func (e *offsetError) Unwrap() error { return e.err }

// Locate turns err into an [Error]: one of [At], or one of reading data as JSON.
func Locate(file string, data []byte, err error) *Error {
	e := &Error{File: file, Err: err}
	var (
		place    *offsetError
		syntax   *jsontext.SyntacticError
		semantic *json.SemanticError
	)
	switch {
	case errors.As(err, &place):
		e.Offset, e.Err = place.offset, place.err
	case errors.As(err, &syntax):
		e.Offset, e.Err = syntax.ByteOffset, syntaxProblem(syntax)
	case errors.As(err, &semantic):
		e.Offset, e.Err = semantic.ByteOffset, semanticProblem(semantic)
	case errors.Is(err, io.EOF):
		e.Offset, e.Err = int64(len(data)), errors.New("the file is empty")
	}
	before := data[:min(e.Offset, int64(len(data)))]
	e.Line = 1 + bytes.Count(before, []byte("\n"))
	e.Column = len(before) - bytes.LastIndexByte(before, '\n')
	return e
}

func syntaxProblem(e *jsontext.SyntacticError) error {
	switch {
	case errors.Is(e.Err, io.ErrUnexpectedEOF):
		return errors.New("the file ends too early")
	case errors.Is(e.Err, jsontext.ErrDuplicateName):
		return fmt.Errorf("the key %q stands twice", e.JSONPointer.LastToken())
	default:
		return errors.New("not JSON: " + strings.TrimPrefix(e.Err.Error(), "jsontext: "))
	}
}

func semanticProblem(e *json.SemanticError) error {
	switch {
	case errors.Is(e.Err, json.ErrUnknownName):
		return fmt.Errorf("unknown key %q", e.JSONPointer.LastToken())
	case e.Err != nil:
		return e.Err
	default:
		return fmt.Errorf("%q: %s is of the wrong type here", e.JSONPointer.LastToken(), Kind(e.JSONKind))
	}
}

// Kind names a kind of JSON value: "an object".
func Kind(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
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
