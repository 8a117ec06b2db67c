package policyfile

import (
	"regexp"
	"strings"
)

// Plain scalars of YAML are where its readers differ: 1.1 and 1.2, and most libraries from both. The rule here:
// what only one reading exists for is taken, what is a number, a boolean or null to any of them but is not
// written as JSON writes it is refused, and everything else is a string.

var (
	jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

	// otherNumber matches the numbers of YAML 1.1, 1.2 and of libraries, without their underscores. The base 60
	// of YAML 1.1 (1:30) is left out: no reader of 1.2 takes it for a number.
	otherNumber = regexp.MustCompile(`^[-+]?(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|` +
		`(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|\.(inf|Inf|INF|nan|NaN|NAN))$`)
)

// plainScalar returns what a plain scalar is, and what is wrong with it.
func plainScalar(text string) (k kind, problem string) {
	switch text {
	case "":
		return kindNull, `the value is missing (write null, "" or [] if that is what you mean)`
	case "null":
		return kindNull, ""
	case "true", "false":
		return kindBool, ""
	case "~", "Null", "NULL":
		return kindNull, text + " is null in another spelling (write null, or put it in quotes to make it a string)"
	case "True", "TRUE", "False", "FALSE":
		return kindBool, text + " is a boolean in another spelling (write " + strings.ToLower(text) + ", or put it in quotes to make it a string)"
	}
	if c := text[0]; c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') {
		return kindString, ""
	}
	if jsonNumber.MatchString(text) {
		return kindNumber, ""
	}
	if otherNumber.MatchString(strings.ReplaceAll(text, "_", "")) {
		return kindNumber, clip(text) + " is not a number that JSON could write (write it in decimal, without '_', '+' and leading zeros, " +
			"or put it in quotes to make it a string)"
	}
	return kindString, ""
}
