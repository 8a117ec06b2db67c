package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write names.txt anew")

func TestNamesAreThoseOfTheCatalogs(t *testing.T) {
	files, err := filepath.Glob("../../testdata/catalogs/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var b strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var catalog struct{ Tools []struct{ Name string } }
		require.NoError(t, json.Unmarshal(text, &catalog))
		if len(catalog.Tools) == 0 {
			continue
		}
		b.WriteString(strings.TrimSuffix(filepath.Base(file), ".json"))
		for _, tool := range catalog.Tools {
			require.False(t, strings.ContainsAny(tool.Name, " \t\n"), "%q", tool.Name)
			b.WriteString(" " + tool.Name)
		}
		b.WriteString("\n")
	}
	if *update {
		require.NoError(t, os.WriteFile("names.txt", []byte(b.String()), 0o644))
		return
	}
	assert.Equal(t, b.String(), namesText, "run: go test ./cmd/loadgen -run Names -update")
	assert.Greater(t, len(realServers()), 80)
}

func TestTokensAreTheWordsOfAName(t *testing.T) {
	for name, want := range map[string][]string{
		"get_issue":            {"get", "issue"},
		"list-sharepoint-site": {"list", "sharepoint", "site"},
		"createMonitor":        {"create", "monitor"},
		"VPS_deleteProjectV1":  {"vps", "delete", "project", "v1"},
		"a.b":                  {"a", "b"},
		"__x-":                 {"x"},
		"":                     nil,
	} {
		assert.Equal(t, want, tokens(name), name)
	}
}
