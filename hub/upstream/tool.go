// One tool of a list, read on its own: what is wrong with it is its own problem and never the list's.
//
// What decides (Raw, Hints, Fingerprint) is taken from the bytes as they came. What callers are shown is put together
// from them anew, since clients are strict: the TypeScript SDK gives up a whole list for one tool whose schema has no
// "type": "object", or whose hint is no boolean.

package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

var (
	errNoName       = errors.New("it has no name")
	errTwoNames     = errors.New("it has more than one name")
	errBadName      = errors.New("its name is not a string of valid UTF-8")
	errSchemaObject = errors.New("inputSchema is not a JSON object")
	errSchemaType   = errors.New(`inputSchema is of a type other than "object"`)
)

// readName returns what a list item calls itself under key.
func readName(ms []member, key string) (string, error) {
	v, times := find(ms, key)
	switch {
	case times == 0:
		return "", fmt.Errorf("%w (%q)", errNoName, key)
	case times > 1:
		return "", fmt.Errorf("%w (%q)", errTwoNames, key)
	}
	name, ok := text(v)
	if !ok {
		return "", fmt.Errorf("%w (%q)", errBadName, key)
	}
	if name == "" {
		return "", fmt.Errorf("%w (%q is empty)", errNoName, key)
	}
	return name, nil
}

// readTool reads one tool. ok is false for one that cannot even be named. raw is copied.
func readTool(server string, raw []byte) (t Tool, problems []error, ok bool) {
	ms, err := members(raw)
	if err != nil {
		return t, []error{err}, false
	}
	name, err := readName(ms, "name")
	if err != nil {
		return t, []error{err}, false
	}
	raw = bytes.Clone(raw)
	t.Tool = engine.Tool{Server: server, Name: name, Raw: raw}
	if annotations, times := find(ms, "annotations"); times == 1 {
		if t.Hints, err = engine.HintsFromJSON(annotations); err != nil {
			problems = append(problems, fmt.Errorf("annotations: %w: they claim nothing", err))
		}
	}
	if t.Fingerprint, err = engine.ComputeFingerprint(raw); err != nil {
		problems = append(problems, fmt.Errorf("it has no fingerprint: %w", err))
	}
	if err := checkStrict(raw); err != nil {
		return t, append(problems, fmt.Errorf("it is not shown: %w", err)), true
	}
	var more []error
	err = guarded(func() (err error) {
		t.Definition, more, err = define(name, ms)
		return err
	})
	problems = append(problems, more...)
	if err != nil {
		t.Definition = nil
		problems = append(problems, fmt.Errorf("it is not shown: %w", err))
	}
	return t, problems, true
}

// define returns what callers may be shown of a tool, and what was left out or put right.
func define(name string, ms []member) (*mcp.Tool, []error, error) {
	d := &definer{}
	t := &mcp.Tool{Name: name, Title: d.text(ms, "title"), Description: d.text(ms, "description")}
	d.decode(ms, "icons", &t.Icons)
	d.meta(ms, &t.Meta)
	if v, times := find(ms, "annotations"); times > 0 && !isNull(v) {
		t.Annotations = d.annotations(v)
	}
	in, _ := find(ms, "inputSchema")
	schema, err := d.inputSchema(in)
	if err != nil {
		return nil, d.problems, err
	}
	t.InputSchema = schema
	if out, times := find(ms, "outputSchema"); times > 0 && !isNull(out) {
		if schema := d.outputSchema(out); schema != nil {
			t.OutputSchema = schema
		}
	}
	return t, d.problems, nil
}

// definer puts a definition together and keeps what was wrong.
type definer struct{ problems []error }

func (d *definer) note(format string, args ...any) {
	d.problems = append(d.problems, fmt.Errorf(format, args...))
}

func (d *definer) text(ms []member, key string) string {
	v, times := find(ms, key)
	if times == 0 || isNull(v) {
		return ""
	}
	s, ok := text(v)
	if !ok {
		d.note("%s is not a string: left out", key)
	}
	return s
}

// decode reads what has a type of the SDK, or leaves it out.
func (d *definer) decode(ms []member, key string, into *[]mcp.Icon) {
	v, times := find(ms, key)
	if times == 0 || isNull(v) {
		return
	}
	var icons []mcp.Icon
	if err := json.Unmarshal(v, &icons); err != nil {
		d.note("%s cannot be read: left out", key)
		return
	}
	*into = icons
}

// meta reads _meta with every digit of its numbers.
func (d *definer) meta(ms []member, into *mcp.Meta) {
	v, times := find(ms, "_meta")
	if times == 0 || isNull(v) {
		return
	}
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		d.note("_meta is not an object: left out")
		return
	}
	*into = m
}

func (d *definer) annotations(v []byte) *mcp.ToolAnnotations {
	ms, err := members(v)
	if err != nil {
		d.note("annotations are not an object: left out")
		return nil
	}
	a := &mcp.ToolAnnotations{Title: d.text(ms, "title")}
	a.ReadOnlyHint = d.hint(ms, "readOnlyHint") == yes
	a.IdempotentHint = d.hint(ms, "idempotentHint") == yes
	a.DestructiveHint = d.hint(ms, "destructiveHint").pointer()
	a.OpenWorldHint = d.hint(ms, "openWorldHint").pointer()
	return a
}

type hint int

const (
	unset hint = iota
	yes
	no
)

func (h hint) pointer() *bool {
	if h == unset {
		return nil
	}
	b := h == yes
	return &b
}

func (d *definer) hint(ms []member, key string) hint {
	v, times := find(ms, key)
	switch {
	case times == 0:
		return unset
	case string(v) == "true":
		return yes
	case string(v) == "false":
		return no
	}
	d.note("annotations.%s is not a boolean: left out", key)
	return unset
}

// inputSchema returns an input schema that clients accept.
func (d *definer) inputSchema(v []byte) (json.RawMessage, error) {
	if len(v) == 0 || isNull(v) {
		d.note(`inputSchema is missing: shown as {"type": "object"}`)
		return json.RawMessage(`{"type":"object"}`), nil
	}
	ms, err := members(v)
	if err != nil {
		return nil, errSchemaObject
	}
	kind, times := find(ms, "type")
	switch s, ok := text(kind); {
	case times == 0 || isNull(kind):
		d.note(`inputSchema has no type: shown with "type": "object"`)
		ms = append([]member{{"type", []byte(`"object"`)}}, without(ms, "type")...)
	case !ok || s != "object":
		return nil, errSchemaType
	}
	return d.shape(ms, "inputSchema")
}

// shape puts right the two members of an object schema that clients are strict about.
func (d *definer) shape(ms []member, what string) (json.RawMessage, error) {
	if v, times := find(ms, "properties"); times > 0 {
		props, err := members(v)
		switch {
		case isNull(v):
			d.note("%s.properties is null: left out", what)
			ms = without(ms, "properties")
		case err != nil:
			return nil, fmt.Errorf("%s.properties is not an object", what)
		default:
			for i, p := range props {
				switch {
				case isObject(p.value):
				case string(p.value) == "true": // any value, and the same as {}
					props[i].value = []byte("{}")
				case string(p.value) == "false":
					props[i].value = []byte(`{"not":{}}`)
				default:
					return nil, fmt.Errorf("%s.properties.%s is not a schema", what, shown(p.name))
				}
			}
			ms = with(ms, "properties", object(props))
		}
	}
	if v, times := find(ms, "required"); times > 0 && !isTexts(v) {
		d.note("%s.required is not a list of strings: left out", what)
		ms = without(ms, "required")
	}
	return object(ms), nil
}

// outputSchema returns an output schema that clients accept, or nil. Clients compile it when they list, and one that
// does not compile fails their whole list.
func (d *definer) outputSchema(v []byte) json.RawMessage {
	ms, err := members(v)
	if err != nil {
		d.note("outputSchema is not a JSON object: left out")
		return nil
	}
	kind, _ := find(ms, "type")
	if s, ok := text(kind); !ok || s != "object" {
		d.note(`outputSchema is not of type "object": left out`)
		return nil
	}
	schema, err := d.shape(ms, "outputSchema")
	if err == nil {
		err = guarded(func() error {
			var s jsonschema.Schema
			if err := json.Unmarshal(schema, &s); err != nil {
				return err
			}
			_, err := s.Resolve(nil)
			return err
		})
	}
	if err != nil {
		d.note("outputSchema does not compile: left out: %s", shown(err.Error()))
		return nil
	}
	return schema
}

func isTexts(v []byte) bool {
	es, err := elements(v)
	if err != nil {
		return false
	}
	for _, e := range es {
		if _, ok := text(e); !ok {
			return false
		}
	}
	return true
}

func without(ms []member, key string) []member {
	var out []member
	for _, m := range ms {
		if m.name != key {
			out = append(out, m)
		}
	}
	return out
}

func with(ms []member, key string, value []byte) []member {
	out := make([]member, len(ms))
	for i, m := range ms {
		if m.name == key {
			m.value = value
		}
		out[i] = m
	}
	return out
}
