// Arguments.
//
// A caller's arguments are bytes until somebody reads them, and two readers read some bytes in two ways: the last of two
// equal keys or the first, a lone surrogate as it is or replaced, 9007199254740993 or its neighbour. If the guard and the
// server are two such readers, a rule judges one call and another one runs. So what is ambiguous is refused, what is not
// is written anew, and only what was written is judged and sent.

package hub

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/penstock-mcp/penstock/engine"
)

var (
	errNotObject = errors.New("arguments must be an object")
	errLarge     = errors.New("arguments are larger than 4 MiB")
)

// maxArguments keeps a call from costing much more than its transport let in: the SDK itself sets no limit in memory.
const maxArguments = 4 << 20

// Arguments are the arguments of one call, read once.
type Arguments struct {
	Values map[string]any // as the engine judges them; numbers are json.Number; nil where there are none
	JSON   []byte         // the same in canonical JSON (RFC 8785): what is sent; nil where there are none
}

// ParseArguments reads the arguments of a call. Absent and null are none.
//
// It refuses what is no object, and whatever engine.CanonicalJSON refuses: duplicate keys at any depth, lone surrogates,
// invalid UTF-8, nesting over 128, numbers that a float64 changes, anything behind the value. Errors hold offsets and
// causes, and no values but the beginning of a number that is refused.
func ParseArguments(raw []byte) (Arguments, error) {
	if len(raw) > maxArguments {
		return Arguments{}, errLarge
	}
	if len(raw) == 0 {
		return Arguments{}, nil
	}
	canonical, err := engine.CanonicalJSON(raw)
	if err != nil {
		return Arguments{}, err
	}
	if bytes.Equal(canonical, []byte("null")) {
		return Arguments{}, nil
	}
	if canonical[0] != '{' {
		return Arguments{}, errNotObject
	}
	// From here on encoding/json cannot go wrong: no key stands twice, and a map has no fields to match without case.
	d := json.NewDecoder(bytes.NewReader(canonical))
	d.UseNumber()
	var values map[string]any
	if err := d.Decode(&values); err != nil {
		return Arguments{}, err
	}
	return Arguments{Values: values, JSON: canonical}, nil
}

// Digest returns "sha256:" and the hex SHA-256 of the canonical arguments, "" where there are none.
func (a Arguments) Digest() string {
	if a.JSON == nil {
		return ""
	}
	sum := sha256.Sum256(a.JSON)
	return "sha256:" + hex.EncodeToString(sum[:])
}
