// Package penstock_test checks the corpora that other tests, the documentation and the commands lean on.
package penstock_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/catalogs.json from testdata/catalogs")

// manifest says what testdata/catalogs holds, so that nobody changes or loses a catalog unseen.
type manifest struct {
	Servers   int            `json:"servers"`
	Tools     int            `json:"tools"`
	Resources int            `json:"resources"`
	Prompts   int            `json:"prompts"`
	Files     []manifestFile `json:"files"`
}

type manifestFile struct {
	Name      string `json:"name"`
	Tools     int    `json:"tools"`
	Resources int    `json:"resources"`
	Prompts   int    `json:"prompts"`
	SHA256    string `json:"sha256"`
}

const manifestFileName = "testdata/catalogs.json"

func TestCatalogsAreThoseOfTheManifest(t *testing.T) {
	got := readCatalogs(t)
	if *update {
		data, err := json.MarshalIndent(got, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(manifestFileName, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	data, err := os.ReadFile(manifestFileName)
	if err != nil {
		t.Fatal(err)
	}
	var want manifest
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}

	if got.Servers != want.Servers || got.Tools != want.Tools || got.Resources != want.Resources || got.Prompts != want.Prompts {
		t.Errorf("the catalogs hold %d servers, %d tools, %d resources, %d prompts; the manifest says %d, %d, %d, %d",
			got.Servers, got.Tools, got.Resources, got.Prompts, want.Servers, want.Tools, want.Resources, want.Prompts)
	}
	inManifest := make(map[string]manifestFile)
	for _, f := range want.Files {
		inManifest[f.Name] = f
	}
	for _, f := range got.Files {
		if w, ok := inManifest[f.Name]; !ok || w != f {
			t.Errorf("%s is %+v; the manifest says %+v", f.Name, f, w)
		}
		delete(inManifest, f.Name)
	}
	for name := range inManifest {
		t.Errorf("%s is in the manifest and missing", name)
	}

	// The manifest itself could be written anew after a loss; the documentation says these two.
	if want.Servers != 91 || want.Tools != 4133 {
		t.Errorf("the manifest has %d servers and %d tools, want 91 and 4133", want.Servers, want.Tools)
	}
}

func readCatalogs(t *testing.T) manifest {
	t.Helper()
	files, err := filepath.Glob("testdata/catalogs/*")
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c struct{ Tools, Resources, Prompts []json.RawMessage }
		if err := json.Unmarshal(data, &c); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if !strings.HasSuffix(file, ".json") {
			t.Errorf("%s is no catalog", file)
		}
		sum := sha256.Sum256(data)
		m.Files = append(m.Files, manifestFile{
			Name:  filepath.Base(file),
			Tools: len(c.Tools), Resources: len(c.Resources), Prompts: len(c.Prompts),
			SHA256: hex.EncodeToString(sum[:]),
		})
		m.Servers++
		m.Tools += len(c.Tools)
		m.Resources += len(c.Resources)
		m.Prompts += len(c.Prompts)
	}
	return m
}
