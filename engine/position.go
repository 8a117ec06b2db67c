package engine

import "fmt"

// Position is where a rule was written: a file, and a line and a column that count from 1, the column in
// bytes. The zero Position is "nowhere", as for rules made in Go.
type Position struct {
	File         string
	Line, Column int32
}

// IsZero reports whether p is nowhere.
func (p Position) IsZero() bool { return p == Position{} }

// String returns file:line:column, leaving out what is not known.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.File == "":
		return fmt.Sprintf("%d:%d", p.Line, p.Column)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}
