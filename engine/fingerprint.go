package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Fingerprint stands for a tool's whole definition. Fingerprints are compared for equality and for nothing else. The
// empty Fingerprint is none, and equals no tool's.
type Fingerprint string

const (
	// fingerprintScheme is in front of every fingerprint, so that another scheme never gives an equal one.
	fingerprintScheme = "penstock1:"
	// fingerprintDomain is hashed before the definition, so that no hash made for another end is a fingerprint.
	fingerprintDomain = "penstock tool definition v1\n"
)

// ComputeFingerprint returns the fingerprint of a raw tool definition: the SHA-256 of its [CanonicalJSON], the whole of
// it, in a domain and under a version of its own.
//
// The order of keys, white space, escapes and the spelling of numbers do not change it; any other change, at any depth,
// does. Any JSON value has a fingerprint; that a definition is an object is for others to check.
//
// It returns a *[JSONError] for what CanonicalJSON refuses. Cost and concurrency are CanonicalJSON's.
func ComputeFingerprint(raw []byte) (Fingerprint, error) {
	canonical, err := CanonicalJSON(raw)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write([]byte(fingerprintDomain))
	h.Write(canonical)
	var sum [sha256.Size]byte
	return Fingerprint(fingerprintScheme + hex.EncodeToString(h.Sum(sum[:0]))), nil
}

// CanonicalJSON returns the canonical form of raw by RFC 8785: two texts have the same one exactly when they are the same
// value. The result shares no memory with raw.
//
// It returns a *[JSONError] with the byte offset for what is no JSON or what two readers could read in two ways:
// duplicate keys, invalid UTF-8, lone surrogates, nesting over 128, anything behind the value, and numbers that a float64
// changes, that is whose decimal value is another one when they are read and written back: 9007199254740993 and 1e400
// are refused, 0.1 is not, and -0 is 0.
//
// Cost: O(n log n) in the length of raw for the sorting of keys, else linear, numbers of any length and exponent
// included.
func CanonicalJSON(raw []byte) ([]byte, error) {
	value, err := exactNumbers(raw)
	if err != nil {
		return nil, err
	}
	if err := value.Canonicalize(); err != nil {
		return nil, &JSONError{Err: fmt.Errorf("%w: %w", ErrSyntax, err)} // it has been parsed strictly already
	}
	return value, nil
}

// exactNumbers parses raw strictly and returns a copy with every number written as RFC 8785 has it.
//
// jsontext would write them, too, but it clamps 1e400, rounds 9007199254740993 and reads 0.000…1e1000001 as zero, since
// strconv stops reading an exponent that is large. So numbers are ours and the rest is left to it.
func exactNumbers(raw []byte) (jsontext.Value, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	out := make(jsontext.Value, 0, len(raw))
	copied := 0
	for first := true; first || d.StackDepth() > 0; first = false {
		if d.PeekKind() != '0' {
			if _, err := d.ReadToken(); err != nil {
				return nil, newJSONError(d, err)
			}
			if d.StackDepth() > maxDepth {
				return nil, &JSONError{Offset: d.InputOffset() - 1, Err: ErrTooDeep}
			}
			continue
		}
		number, err := d.ReadValue()
		if err != nil {
			return nil, newJSONError(d, err)
		}
		end := int(d.InputOffset())
		start := end - len(number)
		value, _ := parseDecimal(string(number))
		f, ok := value.float()
		if !ok {
			return nil, &JSONError{Offset: int64(start), Err: fmt.Errorf("%w: %s", ErrInexactNumber, clipNumber(number))}
		}
		out = append(out, raw[copied:start]...)
		out = jsontext.AppendFloat(out, f, 64) // never of -0, which is no decimal
		copied = end
	}
	if err := endOfJSON(d); err != nil {
		return nil, err
	}
	return append(out, raw[copied:]...), nil
}

var (
	// ErrSyntax says that a text is not JSON: the grammar, UTF-8 and surrogates included.
	ErrSyntax = errors.New("not JSON")
	// ErrNoValue says that a text holds nothing but white space.
	ErrNoValue = errors.New("there is no JSON value")
	// ErrTrailingData says that something stands behind a JSON value.
	ErrTrailingData = errors.New("data behind the JSON value")
	// ErrDuplicateKey says that an object has a key twice.
	ErrDuplicateKey = errors.New("duplicate key")
	// ErrInexactNumber says that a number is not one that a float64 is written as.
	ErrInexactNumber = errors.New("a float64 changes the number")

	errNotObject = fmt.Errorf("%w: annotations are an object", ErrWrongType)
)

// A JSONError says why a JSON text is refused.
type JSONError struct {
	Offset int64 // in bytes; the fault is there, or behind white space that begins there
	Err    error // the cause: [ErrSyntax], [ErrNoValue], [ErrTrailingData], [ErrDuplicateKey], [ErrTooDeep] or [ErrInexactNumber]
}

// Error names the offset and the cause.
func (e *JSONError) Error() string { return fmt.Sprintf("byte %d: %v", e.Offset, e.Err) }

// Unwrap returns the cause.
func (e *JSONError) Unwrap() error { return e.Err }

// newJSONError returns the error for one that reading from d gave.
func newJSONError(d *jsontext.Decoder, err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName):
		return &JSONError{Offset: syntax.ByteOffset, Err: fmt.Errorf("%w %q", ErrDuplicateKey, clipText(syntax.JSONPointer.LastToken()))}
	case errors.As(err, &syntax):
		return &JSONError{Offset: syntax.ByteOffset, Err: fmt.Errorf("%w: %w", ErrSyntax, syntax.Err)}
	case errors.Is(err, io.EOF):
		return &JSONError{Offset: d.InputOffset(), Err: ErrNoValue}
	default:
		return &JSONError{Offset: d.InputOffset(), Err: err}
	}
}

// endOfJSON returns nil where nothing stands behind the value that was read from d.
func endOfJSON(d *jsontext.Decoder) error {
	end := d.InputOffset()
	if _, err := d.ReadToken(); err != io.EOF {
		return &JSONError{Offset: end, Err: ErrTrailingData}
	}
	return nil
}

// clipped is how much of a hostile text an error quotes.
const clipped = 40

func clipNumber(number []byte) string { return clipText(string(number[:min(len(number), clipped+1)])) }

// clipText returns the beginning of s, on a character boundary.
func clipText(s string) string {
	if len(s) <= clipped {
		return s
	}
	end := 0
	for i := range s {
		if i > clipped {
			break
		}
		end = i
	}
	return s[:end] + "…"
}
