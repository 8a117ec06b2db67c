package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/source"
	"github.com/penstock-mcp/penstock/engine"
)

// Parse reads the catalog of server from data; file is for the error, which is a [*source.Error].
func Parse(server, file string, data []byte) (*Catalog, error) {
	p := parser{
		c:   &Catalog{Server: server, File: file},
		dec: newDecoder(data),
	}
	err := p.top()
	if err == nil {
		end := p.dec.InputOffset()
		if more := bytes.TrimLeft(data[end:], " \t\r\n"); len(more) > 0 {
			err = source.At(int64(len(data)-len(more)), errors.New("more data after the catalog"))
		}
	}
	if err == nil {
		err = p.c.quarantine()
	}
	if err == nil {
		return p.c, nil
	}
	return nil, source.Locate(file, data, err)
}

// quarantine asks the engine which tools it keeps out.
func (c *Catalog) quarantine() error {
	report, err := new(engine.Engine).Refresh(c.Server, c.Tools)
	c.Quarantined = report.Quarantined
	return err
}

// newDecoder returns a decoder that takes what servers really send, duplicate keys and broken text included. Wherever
// this package looks at a key or a text itself, it checks them.
func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// parser walks over one file once, token by token down to the single tool.
type parser struct {
	c   *Catalog
	dec *jsontext.Decoder

	lists     bool // a list has been read
	wrapped   bool // inside the result of a JSON-RPC response
	hasResult bool
	seen      []string // the known keys that have been read
}

func (p *parser) top() error {
	if err := p.object("the catalog", p.member); err != nil {
		return err
	}
	if !p.lists {
		return source.At(0, errors.New(`no "tools", "resources" or "prompts" (a catalog is the result of tools/list)`))
	}
	return nil
}

// member reads the value of one key of the result object.
func (p *parser) member(key string) error {
	if p.wrapped && key == "result" {
		return p.dec.SkipValue()
	}
	if slices.Contains(p.seen, key) {
		return p.failf("%w", errTwice(key))
	}
	switch key {
	case "tools", "resources", "prompts", "nextCursor", "result":
		p.seen = append(p.seen, key)
	}
	switch key {
	case "tools":
		return p.array(key, p.tool)
	case "resources":
		return p.array(key, func() error { return p.named(&p.c.Resources, "resource", "uri") })
	case "prompts":
		return p.array(key, func() error { return p.named(&p.c.Prompts, "prompt", "name") })
	case "nextCursor":
		v, err := p.dec.ReadValue()
		p.c.Partial = err == nil && v.Kind() == '"' && string(v) != `""`
		return err
	case "result":
		if p.dec.PeekKind() != '{' {
			return p.dec.SkipValue()
		}
		if p.lists {
			return p.failf("a list beside a \"result\" (a catalog is one or the other)")
		}
		p.wrapped, p.hasResult = true, true
		err := p.object(key, p.member)
		p.wrapped = false
		return err
	case "error":
		if !p.wrapped && p.dec.PeekKind() == '{' {
			return p.failf("the response is an error, not a result")
		}
	}
	return p.dec.SkipValue()
}

// tool reads one definition.
func (p *parser) tool() error {
	raw, start, err := p.value("a tool", '{')
	if err != nil {
		return err
	}
	tool := engine.Tool{Server: p.c.Server, Raw: json.RawMessage(bytes.Clone(raw))}
	hasName, hasAnnotations := false, false
	err = members(raw, start, func(key string, value jsontext.Value, offset int64) error {
		switch key {
		case "name":
			if hasName {
				return source.At(offset, errTwice(key))
			}
			hasName = true
			return text(&tool.Name, value, offset, "a tool's name")
		case "annotations":
			if hasAnnotations {
				return source.At(offset, errTwice(key))
			}
			hasAnnotations = true
			if k := value.Kind(); k != '{' && k != 'n' {
				return source.At(offset, fmt.Errorf("annotations: want an object, not %s", source.Kind(k)))
			}
			var err error
			var inside *engine.JSONError
			if tool.Hints, err = engine.HintsFromJSON(value); errors.As(err, &inside) {
				return source.At(offset+inside.Offset, fmt.Errorf("annotations: %w", inside.Err))
			} else if err != nil {
				return source.At(offset, fmt.Errorf("annotations: %w", err))
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case !hasName:
		return source.At(start, errors.New("a tool without a name"))
	}
	// A definition without a fingerprint is no error here: such a tool never equals what was approved.
	tool.Fingerprint, _ = engine.ComputeFingerprint(tool.Raw)
	p.c.Tools = append(p.c.Tools, tool)
	return nil
}

// named appends the name of a resource or a prompt to list: a string, or an object's key.
func (p *parser) named(list *[]string, what, key string) error {
	name := ""
	if p.dec.PeekKind() == '"' {
		raw, start, err := p.value("a "+what, '"')
		if err != nil {
			return err
		}
		if err := text(&name, raw, start, "a "+what); err != nil {
			return err
		}
		*list = append(*list, name)
		return nil
	}
	raw, start, err := p.value("a "+what, '{')
	if err != nil {
		return err
	}
	found := false
	err = members(raw, start, func(k string, value jsontext.Value, offset int64) error {
		if k != key {
			return nil
		}
		if found {
			return source.At(offset, errTwice(key))
		}
		found = true
		return text(&name, value, offset, fmt.Sprintf("a %s's %s", what, key))
	})
	switch {
	case err != nil:
		return err
	case !found:
		return source.At(start, fmt.Errorf("a %s without a %s", what, key))
	}
	*list = append(*list, name)
	return nil
}

// object reads an object and calls member for each key; member reads the value.
func (p *parser) object(what string, member func(key string) error) error {
	if k := p.dec.PeekKind(); k != '{' {
		return p.wrongKind(what, "an object", k)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	for p.dec.PeekKind() != '}' {
		key, err := p.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := member(key.String()); err != nil {
			return err
		}
	}
	_, err := p.dec.ReadToken()
	return err
}

// array reads one of the lists and calls element for each element; element reads it.
func (p *parser) array(what string, element func() error) error {
	if p.hasResult && !p.wrapped {
		return p.failf("%q beside a \"result\" (a catalog is one or the other)", what)
	}
	p.lists = true
	if k := p.dec.PeekKind(); k != '[' {
		return p.wrongKind(what, "an array", k)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	for p.dec.PeekKind() != ']' {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := p.dec.ReadToken()
	return err
}

// value reads the next value, which must be of the given kind, and returns where it begins.
func (p *parser) value(what string, want jsontext.Kind) (jsontext.Value, int64, error) {
	if k := p.dec.PeekKind(); k != want && k != 0 {
		return nil, 0, p.wrongKind(what, source.Kind(want), k)
	}
	v, err := p.dec.ReadValue()
	return v, p.dec.InputOffset() - int64(len(v)), err
}

// wrongKind reports a value of the wrong type, or what is wrong with the JSON there.
func (p *parser) wrongKind(what, want string, got jsontext.Kind) error {
	if got == 0 {
		if _, err := p.dec.ReadToken(); err != nil {
			return err
		}
	}
	return p.failf("%s: want %s, not %s", what, want, source.Kind(got))
}

// failf reports something wrong with the value that comes next.
func (p *parser) failf(format string, args ...any) error {
	problem := fmt.Errorf(format, args...)
	v, err := p.dec.ReadValue()
	if err != nil {
		return err
	}
	return source.At(p.dec.InputOffset()-int64(len(v)), problem)
}

// members calls f for each member of raw, a well-formed object that begins at offset start of the file.
func members(raw jsontext.Value, start int64, f func(key string, value jsontext.Value, offset int64) error) error {
	dec := newDecoder(raw)
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		key, err := dec.ReadToken()
		if err != nil {
			return err
		}
		name := key.String()
		v, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := f(name, v, start+dec.InputOffset()-int64(len(v))); err != nil {
			return err
		}
	}
	return nil
}

func text(dst *string, v jsontext.Value, offset int64, what string) error {
	if v.Kind() != '"' {
		return source.At(offset, fmt.Errorf("%s: want a string, not %s", what, source.Kind(v.Kind())))
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return source.At(offset, fmt.Errorf("%s is not valid Unicode", what))
	}
	*dst = string(b)
	return nil
}

func errTwice(key string) error { return fmt.Errorf("the key %q stands twice", key) }
