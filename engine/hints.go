package engine

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Hint is what a server says of one property of a tool: nothing, true or false. The zero Hint is [Unset].
type Hint uint8

const (
	Unset Hint = iota
	True
	False
)

// String returns unset, true or false.
func (h Hint) String() string {
	switch h {
	case True:
		return "true"
	case False:
		return "false"
	default:
		return "unset"
	}
}

// Hints are the annotations of a tool as its server gave them: claims. What they amount to is [Hints.Effective]. The zero
// Hints claims nothing.
type Hints struct {
	ReadOnly    Hint
	Destructive Hint
	OpenWorld   Hint
	Idempotent  Hint
}

// HintKey names one hint.
type HintKey uint8

const (
	HintReadOnly HintKey = iota
	HintDestructive
	HintOpenWorld
	HintIdempotent
)

// hintKeys is the number of hints.
const hintKeys = 4

// String returns the key as policies have it: read_only, destructive, open_world or idempotent.
func (k HintKey) String() string {
	switch k {
	case HintReadOnly:
		return "read_only"
	case HintDestructive:
		return "destructive"
	case HintOpenWorld:
		return "open_world"
	case HintIdempotent:
		return "idempotent"
	default:
		return fmt.Sprintf("HintKey(%d)", uint8(k))
	}
}

// annotation returns the key as MCP has it.
func (k HintKey) annotation() string {
	switch k {
	case HintReadOnly:
		return "readOnlyHint"
	case HintDestructive:
		return "destructiveHint"
	case HintOpenWorld:
		return "openWorldHint"
	default:
		return "idempotentHint"
	}
}

// ParseHintKey returns the key that s names in a policy, exactly.
func ParseHintKey(s string) (HintKey, error) {
	for k := range HintKey(hintKeys) {
		if k.String() == s {
			return k, nil
		}
	}
	return 0, fmt.Errorf("unknown annotation %q (write read_only, destructive, open_world or idempotent)", s)
}

// hint returns the field that k names.
func (h *Hints) hint(k HintKey) *Hint {
	switch k {
	case HintReadOnly:
		return &h.ReadOnly
	case HintDestructive:
		return &h.Destructive
	case HintOpenWorld:
		return &h.OpenWorld
	default:
		return &h.Idempotent
	}
}

// HintsFromJSON returns the hints of a raw MCP annotations object. A hint that is neither true nor false counts as
// absent, and so do keys in another case. Nothing at all and null are no hints.
//
// What is no object, or not strict JSON (a duplicate key, at any depth, above all), is a *[JSONError], and all hints
// are unset: one of two values of a key would have to be believed.
//
// Cost: linear in annotations.
func HintsFromJSON(annotations []byte) (Hints, error) {
	if len(annotations) == 0 {
		return Hints{}, nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(annotations))
	var h Hints
	if err := h.read(d); err != nil {
		return Hints{}, newJSONError(d, err)
	}
	if err := endOfJSON(d); err != nil {
		return Hints{}, err
	}
	return h, nil
}

// read reads one object, or null.
func (h *Hints) read(d *jsontext.Decoder) error {
	switch kind := d.PeekKind(); kind {
	case '{':
	case 'n':
		_, err := d.ReadToken()
		return err
	default:
		if _, err := d.ReadValue(); err != nil {
			return err
		}
		return errNotObject
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		for k := range HintKey(hintKeys) {
			if key != k.annotation() {
				continue
			}
			switch value.Kind() {
			case 't':
				*h.hint(k) = True
			case 'f':
				*h.hint(k) = False
			}
		}
	}
	_, err := d.ReadToken()
	return err
}

// Effective returns what a hint amounts to.
//
// Untrusted, whatever the server says, a tool is not read-only, is destructive, is open-world and is not
// idempotent. Trusted, it is what the server says, and where that is nothing, the same by the defaults of MCP; but
// a read-only tool is not destructive. A key that names no hint has none: false.
func (h Hints) Effective(key HintKey, trusted bool) bool {
	if !trusted {
		h = Hints{}
	}
	switch key {
	case HintReadOnly:
		return h.ReadOnly == True
	case HintDestructive:
		return h.ReadOnly != True && h.Destructive != False
	case HintOpenWorld:
		return h.OpenWorld != False
	case HintIdempotent:
		return h.Idempotent == True
	default:
		return false
	}
}
