package lint

// This file guesses from the words of a name what a tool does. Everything that leans on it says that it is a guess.

import (
	"slices"
	"strings"
	"unicode"

	"github.com/penstock-mcp/penstock/engine"
)

// words cuts a name at '_', '-', '.', '/', digits and the humps of camelCase, and lowers the case:
// "sql_db_delete" and "deleteRepo" both have a word delete.
func words(name string) []string {
	var all []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			all = append(all, string(word))
			word = word[:0]
		}
	}
	rs := []rune(name)
	for i, c := range rs {
		switch {
		case !unicode.IsLetter(c):
			end()
			continue
		case unicode.IsUpper(c) && i > 0 && (unicode.IsLower(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1])):
			end()
		}
		word = append(word, unicode.ToLower(c))
	}
	end()
	return all
}

var (
	// deleteWords do away with something.
	deleteWords = []string{"delete", "destroy", "drop", "erase", "purge", "remove", "rm", "truncate", "unlink", "wipe"}

	// writeWords change something, and are not also common nouns, adjectives or names of reading tools.
	writeWords = []string{"add", "approve", "archive", "assign", "cancel", "create", "edit", "insert", "invite", "merge", "modify", "move",
		"patch", "publish", "rename", "revoke", "send", "submit", "uninstall", "update", "upload", "upsert", "write"}

	// readWords read.
	readWords = []string{"check", "count", "describe", "fetch", "find", "get", "list", "lookup", "query", "read", "retrieve", "search", "show",
		"view"}
)

func has(words, of []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(of, w) })
}

// deletes reports whether a name says that the tool deletes something: it has such a word and none for reading.
func deletes(name string) bool {
	w := words(name)
	return has(w, deleteWords) && !has(w, readWords)
}

// changes reports whether a name says that the tool changes something.
func changes(name string) bool {
	w := words(name)
	return (has(w, deleteWords) || has(w, writeWords)) && !has(w, readWords)
}

// effect says what a tool does, as its name suggests and as its server says against itself.
func effect(t *engine.Tool) (reads, writes bool) {
	w := words(t.Name)
	if t.Hints.ReadOnly == engine.False || t.Hints.ReadOnly != engine.True && t.Hints.Destructive == engine.True || changes(t.Name) {
		return false, true
	}
	return t.Hints.ReadOnly == engine.True || has(w, readWords), false
}

// verbOf returns the one word of a name segment or an expression for many names, such as "delete_*" or "^delete", or "".
func verbOf(text string) string {
	w := words(text)
	if len(w) != 1 || !has(w, deleteWords) && !has(w, writeWords) {
		return ""
	}
	return w[0]
}

// simpleExpr returns an expression without the marks that hold it to word ends, or "" where it is more than a word.
func simpleExpr(re string) string {
	body := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(re, "(?i)"), "^"), "$"), ".*")
	body = strings.TrimPrefix(strings.TrimSuffix(strings.ReplaceAll(body, `\b`, ""), "[_-]"), "[_-]")
	if strings.ContainsFunc(body, func(c rune) bool { return !unicode.IsLetter(c) && c != '_' && c != '-' }) {
		return ""
	}
	return body
}
