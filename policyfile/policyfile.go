package policyfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
)

// Options say how a document is read. The zero value is the default.
type Options struct {
	// File is the name of the document in messages and positions. With the extension .json the document must be
	// JSON.
	File string

	// Predicates are the functions that the document may use by name.
	Predicates Predicates
}

// Document is a document that was read: the options of a filter and of a policy, every rule with its position.
type Document struct {
	Filter engine.FilterOptions
	Policy engine.PolicyOptions

	// HasFilter and HasPolicy say whether the document has the section. Without a filter section the filter hides
	// nothing; without a policy section the policy is the default one, which asks for everything.
	HasFilter, HasPolicy bool

	file      string
	root      *node   // as it was read, for the places of options
	trustedAt []*node // where each of Policy.Trusted stands
}

// Parse reads a document in YAML or JSON.
//
// The error is an *[Error] with everything whose form is wrong: not YAML or JSON, unknown and duplicate keys,
// wrong types, bad regular expressions, unknown predicates. Where there is any, it also has what the engine
// refuses in the rest, such as bad patterns; where there is none, that is the error of [Document.Compile].
// The document is nil if there is an error.
//
// Refused are documents over [MaxSize] bytes, those that nest deeper than 64, regular expressions over 4 KiB, over Go's
// own limit of 1,000 repeats, or that compile to more than 10,000 instructions, and documents whose regular expressions
// compile to more than 1,000,000 instructions together. The error lists the first [MaxEntries] problems by place and
// counts the others.
//
// Cost: linear in the size of data, plus compiling the regular expressions. Parse does not keep data.
func Parse(data []byte, opts Options) (*Document, error) {
	ps := &problems{file: opts.File}
	doc := &Document{file: opts.File}
	if root := readTree(data, ps); root != nil {
		doc.root = root
		c := &checker{problems: ps, predicates: opts.Predicates, doc: doc}
		c.document(root)
	}
	if len(ps.entries) == 0 {
		return doc, nil
	}
	// The engine looks at what has the right form, so that all there is to say is said at once.
	if _, _, err := doc.Compile(); err != nil {
		ps.addAll(err)
	}
	return nil, ps.err()
}

// readTree reads data as JSON or YAML. It returns nil if there is no tree, and ps says why.
func readTree(data []byte, ps *problems) *node {
	if len(data) > MaxSize {
		ps.addErr(engine.Position{File: ps.file}, nil, &SizeError{Limit: MaxSize})
		return nil
	}
	text := bytes.TrimPrefix(data, byteOrderMark)
	l := newLines(text)
	if !checkEncoding(text, l, ps) {
		return nil
	}
	mustJSON := strings.EqualFold(filepath.Ext(ps.file), ".json")
	if !mustJSON && !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return readYAML(text, l, ps)
	}
	root, notJSON := readJSON(text, l, ps)
	if notJSON == nil {
		return root
	}
	if mustJSON {
		ps.append(notJSON)
		return nil
	}
	// YAML in flow style begins with a brace, too, and JSON with a comment behind it is YAML. If it is neither, the
	// first key tells what was meant.
	yaml := &problems{file: ps.file}
	root = readYAML(text, l, yaml)
	if root == nil && quotedKey(text) {
		yaml.entries, yaml.more = []*EntryError{notJSON}, 0
	}
	ps.append(yaml.entries...)
	ps.more += yaml.more
	return root
}

// quotedKey reports whether the first key of text, which begins with a brace, is in double quotes.
func quotedKey(text []byte) bool {
	const space = " \t\r\n"
	_, rest, _ := bytes.Cut(text, []byte("{"))
	return bytes.HasPrefix(bytes.TrimLeft(rest, space), []byte(`"`))
}

// Load reads the document in the file path, as [Parse] does. In messages the file has opts.File as its name, or its
// path if that is empty. Errors of the file system come as they are.
func Load(path string, opts Options) (*Document, error) {
	if opts.File == "" {
		opts.File = path
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, err
	}
	return Parse(data, opts)
}

// A SizeError reports input that is too large.
type SizeError struct {
	Limit int // in bytes
}

// Error says what is allowed.
func (e *SizeError) Error() string {
	return fmt.Sprintf("the document is larger than %d MiB", e.Limit>>20)
}

// Compile returns the document's filter and policy. Both are never nil unless there is an error: where the
// document has no such section, they are the default ones.
//
// The error is an *[Error] with everything that the engine refuses in either, each with its place and as an
// [*engine.EntryError].
func (d *Document) Compile() (*engine.Filter, *engine.Policy, error) {
	filter, filterErr := engine.CompileFilter(d.Filter)
	policy, policyErr := engine.CompilePolicy(d.Policy)
	if filterErr == nil && policyErr == nil {
		return filter, policy, nil
	}
	ps := &problems{file: d.file}
	for _, err := range []error{filterErr, policyErr} {
		ps.addEngine(err, d)
	}
	if err := ps.err(); err != nil {
		return nil, nil, err
	}
	return nil, nil, errReported
}

// addEngine adds what the engine refused, but for what was reported already.
func (p *problems) addEngine(err error, d *Document) {
	var compile *engine.CompileError
	if err == nil {
		return
	}
	if !errors.As(err, &compile) {
		p.addErr(engine.Position{File: p.file}, nil, err)
		return
	}
	for _, entry := range compile.Entries {
		if errors.Is(entry.Err, errReported) {
			continue
		}
		e := *entry
		if e.Position.IsZero() && e.Option == "trusted" && e.Index >= 0 && e.Index < len(d.trustedAt) {
			e.Position = d.trustedAt[e.Index].place(p.file)
		}
		path := (*path)(nil).child(e.Section).child(e.Option)
		if e.Index >= 0 {
			path = path.at(e.Index)
		}
		p.addErr(e.Position, path, &e)
	}
}

// addAll adds the entries of an *Error.
func (p *problems) addAll(err error) {
	var all *Error
	if errors.As(err, &all) {
		p.append(all.Entries...)
		p.more += all.More
	}
}
