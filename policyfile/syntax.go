package policyfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML returns the content of the only document of text, nil if there is none.
func parseYAML(text []byte) (root *yaml.Node, err error) {
	defer func() {
		// The parser panics on input its authors did not think of.
		if p := recover(); p != nil {
			root, err = nil, fmt.Errorf("yaml: %v", p)
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	switch err := d.Decode(&doc); {
	case err == io.EOF:
		return nil, nil
	case err != nil:
		return nil, err
	}
	switch err := d.Decode(&second); {
	case err == nil:
		return nil, &errSecond{second.Line, second.Column}
	case err != io.EOF:
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// errSecond is a second document in the stream.
type errSecond struct{ line, column int }

func (e *errSecond) Error() string { return "a second document begins here (one file holds one)" }

// mask returns text with a letter at each of the offsets.
func mask(text []byte, offsets []int) []byte {
	text = bytes.Clone(text)
	for _, off := range offsets {
		text[off] = 'x'
	}
	return text
}

// syntaxError reports why text is no YAML.
func syntaxError(err error, text []byte, l *lines, ps *problems, scan yamlScan) {
	var second *errSecond
	if errors.As(err, &second) {
		ps.addAt(l, l.offset(second.line, second.column), "%w", err)
		return
	}
	if scan.open >= 0 {
		ps.addAt(l, scan.open, "YAML: this %c is never closed", text[scan.open])
		return
	}
	line, msg := splitMessage(err)
	off, exact := locate(text, msg)
	if !exact {
		off = l.offset(line, 1)
		for off < len(text) && isBlank(text[off]) {
			off++
		}
	}
	ps.addAt(l, off, "YAML: %s%s", msg, syntaxHint(msg, text, off))
}

// splitMessage takes the line off a message of the parser.
func splitMessage(err error) (line int, msg string) {
	msg, line = strings.TrimPrefix(err.Error(), "yaml: "), 1
	if _, err := fmt.Sscanf(msg, "line %d:", &line); err == nil {
		_, msg, _ = strings.Cut(msg, ": ")
	}
	return line, msg
}

// maxLocate is the size of the largest text in which locate seeks, so that a large one costs no more than reading
// it once. Documents that people write have a few KiB.
const maxLocate = 16 << 10

// locate returns the offset of a fault in text that the parser reports as msg.
//
// The parser knows the line at best, and often that of the collection around the fault. But it stops at the first
// fault, so the shortest beginning of text that has the same fault ends with it.
func locate(text []byte, msg string) (off int, ok bool) {
	if len(text) > maxLocate {
		return 0, false
	}
	n := sort.Search(len(text), func(n int) bool {
		_, err := parseYAML(text[:n])
		if err == nil {
			return false
		}
		_, got := splitMessage(err)
		return got == msg
	})
	return max(n-1, 0), n > 0
}

// syntaxHint says what usually helps against a fault that the parser reports as msg.
func syntaxHint(msg string, text []byte, off int) string {
	switch msg {
	case "found unknown escape character":
		return ` (in double quotes a backslash is written \\; in single quotes it is itself)`
	case "found invalid Unicode character escape code":
		return ` (a character beyond U+FFFF is written \U and eight digits)`
	case "mapping values are not allowed in this context":
		return " (a text that holds a colon and a space is put in quotes)"
	case "did not find expected key", "could not find expected ':'":
		return " (look at the indentation and at what stands behind a value)"
	case "did not find expected <document start>":
		return " (something follows the end of the document)"
	case "found character that cannot start any token":
		if off < len(text) && text[off] == '\t' {
			return " (a tab does not indent: use spaces)"
		}
		return " (put the text in quotes)"
	default:
		return ""
	}
}
