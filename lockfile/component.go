package lockfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Component is one part of a tool's definition.
type Component uint8

// The components, in the order in which the file has them. The name of a tool is none: another name is another tool.
const (
	Description Component = iota
	InputSchema
	OutputSchema
	Annotations
	Title
	Rest // every other member, as one object
	components
)

var componentNames = [components]string{"description", "input_schema", "output_schema", "annotations", "title", "rest"}

// members gives the key of a definition's member for each component but Rest.
var members = [components]string{"description", "inputSchema", "outputSchema", "annotations", "title"}

// String returns the name that the file has for the component.
func (c Component) String() string {
	if c < components {
		return componentNames[c]
	}
	return fmt.Sprintf("Component(%d)", uint8(c))
}

// Digests holds a digest of each component; "" for one that the definition does not have.
type Digests [components]string

const (
	// digestScheme is in front of every digest, so that it is never taken for a fingerprint.
	digestScheme = "digest1:"
	// digestDomain is hashed before the name of the component and its canonical form.
	digestDomain = "penstock tool component v1\n"
)

// parts are the components of a definition in canonical form; nil for one that is not there.
type parts [components]jsontext.Value

// digests returns the digest of every part.
func (p *parts) digests() *Digests {
	d := new(Digests)
	for c := range components {
		if p[c] == nil {
			continue
		}
		h := sha256.New()
		h.Write([]byte(digestDomain + c.String() + "\n"))
		h.Write(p[c])
		d[c] = digestScheme + hex.EncodeToString(h.Sum(nil))
	}
	return d
}

var (
	errNotObject = errors.New("the definition is not an object")
	errNoName    = errors.New("the definition has no name")
)

// split takes a definition in canonical form apart and returns its name, too. The parts share memory with it.
func split(canonical jsontext.Value) (name string, p parts, err error) {
	if canonical.Kind() != '{' {
		return "", p, errNotObject
	}
	dec := jsontext.NewDecoder(newBuffer(canonical))
	if _, err := dec.ReadToken(); err != nil {
		return "", p, err
	}
	named := false
	rest := []byte{'{'}
	for dec.PeekKind() != '}' {
		key, err := dec.ReadValue()
		if err != nil {
			return "", p, err
		}
		key = key.Clone() // the decoder may overwrite it
		value, err := dec.ReadValue()
		if err != nil {
			return "", p, err
		}
		plain, err := jsontext.AppendUnquote(nil, key)
		if err != nil {
			return "", p, err
		}
		if string(plain) == "name" {
			if value.Kind() != '"' {
				return "", p, errNoName
			}
			text, err := jsontext.AppendUnquote(nil, value)
			if err != nil {
				return "", p, err
			}
			name, named = string(text), true
			continue
		}
		if c := componentOf(string(plain)); c != Rest {
			p[c] = value.Clone()
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, key...), ':'), value...)
	}
	if !named {
		return "", p, errNoName
	}
	if len(rest) > 1 {
		p[Rest] = append(rest, '}')
	}
	return name, p, nil
}

// componentOf returns the component that a member of a definition is.
func componentOf(member string) Component {
	for c, key := range members[:Rest] {
		if key == member {
			return Component(c)
		}
	}
	return Rest
}
