// A tool, from the bytes of a tools/list.

package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrNoToolName says that a definition does not say what the tool is called.
var ErrNoToolName = errors.New(`the definition has no string "name"`)

// ParseTool returns the tool that an item of a tools/list defines: its name, hints and fingerprint, under the id that
// the embedder gave the server. raw is one item as it came, and is copied: what was decoded into a type and encoded
// again has lost what the type does not know.
//
// Only "name" and "annotations" are read, spelled exactly so. A hint that is no boolean counts as absent, and so do
// annotations that are no object.
//
// Refused is what two readers could read in two ways, because then one tool would be judged and another one seen:
// whatever [CanonicalJSON] refuses is a *[JSONError]. A definition that is no object, or whose name is no string or empty,
// is an [ErrNoToolName]. An id that no server can have is a *[ServerIDError]. With an error there is no tool; a server's other
// tools are no worse for it.
//
// Cost: linear in raw, and a SHA-256 of it.
func ParseTool(server string, raw []byte) (Tool, error) {
	if err := CheckServerID(server); err != nil {
		return Tool{}, err
	}
	t := Tool{Server: server, Raw: bytes.Clone(raw)}
	var err error
	if t.Fingerprint, err = ComputeFingerprint(raw); err != nil {
		return Tool{}, err
	}
	// No key stands twice, and a map has no fields to be matched without regard to case.
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return Tool{}, fmt.Errorf("%w: it is no object", ErrNoToolName)
	}
	var name any
	if err := json.Unmarshal(members["name"], &name); err != nil {
		return Tool{}, ErrNoToolName
	}
	if t.Name, _ = name.(string); t.Name == "" || !utf8.ValidString(t.Name) {
		return Tool{}, ErrNoToolName
	}
	if t.Hints, err = HintsFromJSON(members["annotations"]); err != nil {
		t.Hints = Hints{}
	}
	return t, nil
}
