package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"encoding/json"

	"github.com/stretchr/testify/require"
)

func TestParseTool(t *testing.T) {
	raw := []byte(`{"name": "write", "Name": "read", "annotations": {"readOnlyHint": false, "destructiveHint": "no", "ReadOnlyHint": true}}`)
	tool, err := ParseTool("fs", raw)
	require.NoError(t, err)
	require.Equal(t, Target{"fs", "write"}, tool.Target())
	require.Equal(t, Hints{ReadOnly: False}, tool.Hints)
	want, err := ComputeFingerprint(raw)
	require.NoError(t, err)
	require.Equal(t, want, tool.Fingerprint)
	require.Equal(t, string(raw), string(tool.Raw))
	raw[0] = ' '
	require.Equal(t, byte('{'), tool.Raw[0], "the definition is copied")

	for _, odd := range []string{`[true]`, `"yes"`, `null`, `7`, `{}`} {
		tool, err := ParseTool("fs", []byte(`{"name": "x", "annotations": `+odd+`}`))
		require.NoError(t, err, odd)
		require.Zero(t, tool.Hints, odd)
	}
}

func TestParseToolRefusesWhatIsNotOneTool(t *testing.T) {
	for _, bad := range []string{
		``, `null`, `[]`, `"name"`, `{}`, `{"Name": "x"}`, `{"name": null}`, `{"name": 1}`, `{"name": ""}`, `{"name": ["x"]}`,
	} {
		tool, err := ParseTool("fs", []byte(bad))
		require.Error(t, err, bad)
		require.Zero(t, tool, bad)
		if bad != "" {
			require.ErrorIs(t, err, ErrNoToolName, bad)
		}
	}
	for _, bad := range []string{
		`{"name": "x", "name": "y"}`, `{"name": "x", "a": {"b": 1, "b": 2}}`, `{"name": "\ud800"}`, "{\"name\": \"\xff\"}",
		`{"name": "x"} {"name": "y"}`, `{"name": "x", "n": 9007199254740993}`,
		`{"name": "x", "annotations": {"readOnlyHint": true, "readOnlyHint": false}}`,
	} {
		tool, err := ParseTool("fs", []byte(bad))
		var syntax *JSONError
		require.True(t, errors.As(err, &syntax), "%s: %v", bad, err)
		require.Zero(t, tool, bad)
	}
	_, err := ParseTool("a/b", []byte(`{"name": "x"}`))
	var id *ServerIDError
	require.True(t, errors.As(err, &id), "%v", err)
}

// Every tool of the real servers is one, with the fingerprint of its bytes.
func TestParseToolReadsRealTools(t *testing.T) {
	files, err := filepath.Glob("../testdata/catalogs/*.json")
	require.NoError(t, err)
	read := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var list struct{ Tools []json.RawMessage }
		require.NoError(t, json.Unmarshal(data, &list))
		for _, raw := range list.Tools {
			tool, err := ParseTool("s", raw)
			require.NoError(t, err, file)
			require.NotEmpty(t, tool.Fingerprint)
			read++
		}
	}
	require.Equal(t, 4133, read)
}
