package lockfile

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxSize is the largest file that is read or written, in bytes. The 4,133 tools of testdata take 4.3 MB with their
// definitions: it is room for some 120,000 tools.
const MaxSize = 128 << 20

// version is the one that this package reads and writes.
const version = 1

// Encode returns the file's text: equal files have equal texts. It returns [ErrTooLarge] for one that could not be
// read again.
func (f *File) Encode() ([]byte, error) {
	dst := fmt.Appendf(nil, "{\n  \"version\": %d,\n  \"tools\": [", version)
	for i := range f.entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendEntry(dst, &f.entries[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", f.entries[i].Target(), err)
		}
	}
	if len(f.entries) > 0 {
		dst = append(dst, "\n  "...)
	}
	dst = append(dst, "]\n}\n"...)
	if len(dst) > MaxSize {
		return nil, ErrTooLarge
	}
	return dst, nil
}

func appendEntry(dst []byte, e *Entry) ([]byte, error) {
	dst = append(dst, "\n    {\n      \"server\": "...)
	dst = appendString(dst, e.Server)
	dst = append(dst, ",\n      \"name\": "...)
	dst = appendString(dst, e.Name)
	dst = append(dst, ",\n      \"fingerprint\": "...)
	dst = appendString(dst, string(e.Fingerprint))
	if e.Digests != nil {
		dst = append(dst, ",\n      \"digests\": {"...)
		first := true
		for c, digest := range e.Digests {
			if digest == "" {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = fmt.Appendf(dst, "\n        %q: %q", Component(c), digest)
		}
		if !first {
			dst = append(dst, "\n      "...)
		}
		dst = append(dst, '}')
	}
	if e.Definition != nil {
		text := jsontext.Value(e.Definition).Clone()
		if err := text.Indent(jsontext.WithIndentPrefix("      "), jsontext.WithIndent("  ")); err != nil {
			return nil, err // a definition in canonical form is JSON
		}
		dst = append(dst, ",\n      \"definition\": "...)
		dst = appendEscaped(dst, text)
	}
	return append(dst, "\n    }"...), nil
}

// appendString appends s, which is UTF-8, as a JSON string.
func appendString(dst []byte, s string) []byte {
	quoted, _ := jsontext.AppendQuote(nil, s)
	return appendEscaped(dst, quoted)
}

// appendEscaped appends a JSON text with escapes for what does not show. Only strings hold anything beyond ASCII, so
// every such character is in one.
func appendEscaped(dst, text []byte) []byte {
	for len(text) > 0 {
		if c := text[0]; c < utf8.RuneSelf && c != 0x7f {
			dst, text = append(dst, c), text[1:]
			continue
		}
		r, n := utf8.DecodeRune(text)
		if unseen(r) {
			dst = appendEscape(dst, r)
		} else {
			dst = append(dst, text[:n]...)
		}
		text = text[n:]
	}
	return dst
}

func appendEscape(dst []byte, r rune) []byte {
	for _, unit := range utf16.AppendRune(nil, r) {
		dst = fmt.Appendf(dst, `\u%04x`, unit)
	}
	return dst
}
