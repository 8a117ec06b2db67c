package fuzz

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReferenceVectors(t *testing.T) {
	files, err := filepath.Glob("../testdata/vectors/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			vectors, err := ReadVectorFile(file)
			require.NoError(t, err)
			for _, v := range vectors {
				if err := v.Check(v.Reference(), false); err != nil {
					t.Errorf("%s:%d: %s: %v", file, v.Line, v.ID, err)
				}
			}
		})
	}
}
