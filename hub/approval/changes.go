// What changed: where a pin asks, the difference between the tool that was approved and the one that is there now.
//
// A definition may be long, and its author would hide a change in it. So what both have in front and behind is left out,
// and what is left is cut only where it is longer than a person would read; the labels then say which bytes these
// are, and of what.

package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/lockfile"
)

const (
	// maxPart bounds what is shown of one side of one part, in bytes before they are escaped.
	maxPart = 1 << 10
	// maxChanges bounds what is shown of all changes; further ones have digests only.
	maxChanges = 12 << 10
	// around is how many bytes that did not change are shown on either side of those that did.
	around = 24
)

// changes says what became of the approved definition.
func (p *page) changes(r *hub.ApprovalRequest) {
	was, _ := r.Baseline.Lookup(r.Target)
	p.name("Approved fingerprint", string(was))
	if r.Fingerprint == "" {
		p.fixed("Fingerprint now: none can be computed")
		return
	}
	p.name("Fingerprint now", string(r.Fingerprint))
	parts, ok := difference(r, was)
	if !ok {
		p.fixed("What changed: not known, for the approved definition is not at hand")
		return
	}
	start := len(p.b)
	for _, c := range parts {
		p.fixed("Part " + c.Kind.String() + ": " + c.Component.String())
		from, to := pieces(c.Old, c.New, len(p.b)-start < maxChanges)
		if c.Old != nil {
			p.piece("From", from)
		}
		if c.New != nil {
			p.piece("To", to)
		}
	}
}

// difference returns the parts that changed, if the approved definition is there and is the approved one.
func difference(r *hub.ApprovalRequest, was engine.Fingerprint) ([]lockfile.ComponentChange, bool) {
	if r.ApprovedDefinition == nil || r.Tool == nil || was == "" {
		return nil, false
	}
	// A definition that does not have the fingerprint beside it has no parts: see lockfile.File.Approve.
	old := engine.Tool{Server: r.Target.Server, Name: r.Target.Name, Raw: r.ApprovedDefinition, Fingerprint: was}
	now := *r.Tool
	now.Fingerprint = r.Fingerprint
	var f lockfile.File
	if f.Approve(old) != nil {
		return nil, false
	}
	all := lockfile.Diff(&f, []engine.Tool{now})
	if len(all) != 1 || all[0].Err != nil || len(all[0].Components) == 0 {
		return nil, false
	}
	return all[0].Components, true
}

// piece is what is shown of one side of a part.
type piece struct {
	text     string // plain where the part is a string, else JSON
	from, to int    // of the text, in bytes
	json     bool   // the piece is a whole JSON text that is no string
}

// pieces returns what to show of a part before and after.
func pieces(was, is json.RawMessage, room bool) (piece, piece) {
	a, aText := plainOf(was)
	b, bText := plainOf(is)
	if !room {
		return piece{text: a}, piece{text: b}
	}
	front := 0
	for front < len(a) && front < len(b) && a[front] == b[front] {
		front++
	}
	back := 0
	for back < len(a)-front && back < len(b)-front && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	return window(a, aText, front, back), window(b, bText, front, back)
}

// window returns s without most of what does not change in front and behind.
func window(s string, text bool, front, back int) piece {
	p := piece{text: s, to: len(s)}
	if len(s) <= maxPart {
		p.json = !text
		return p
	}
	p.from = max(0, front-around)
	p.to = min(len(s), p.from+maxPart, len(s)-back+around)
	for p.from > 0 && !utf8.RuneStart(s[p.from]) {
		p.from--
	}
	for p.to < len(s) && !utf8.RuneStart(s[p.to]) {
		p.to++
	}
	return p
}

// plainOf returns the text of a JSON string, and of anything else the JSON.
func plainOf(v json.RawMessage) (s string, text bool) {
	if len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &s) == nil {
		return s, true
	}
	return string(v), false
}

// piece is a line with a piece, whole or with a label that says what is missing.
func (p *page) piece(label string, x piece) {
	if x.from > 0 || x.to < len(x.text) {
		sum := sha256.Sum256([]byte(x.text))
		digest := hex.EncodeToString(sum[:])
		if x.to == 0 {
			p.fixed(fmt.Sprintf("%s: not shown, %d bytes, sha256 %s", label, len(x.text), digest))
			return
		}
		label = fmt.Sprintf("%s (bytes %d to %d of %d, sha256 %s)", label, x.from, x.to, len(x.text), digest)
	}
	p.label(label)
	if x.json {
		p.json([]byte(x.text))
	} else {
		p.quote(x.text[x.from:x.to])
	}
	p.end()
}
