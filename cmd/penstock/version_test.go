package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionNamesTheSource(t *testing.T) {
	info := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc123"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
		},
	}
	got := versionText(info)
	for _, want := range []string{"penstock v1.2.3\n", "revision abc123, 2026-01-02T03:04:05Z, modified\n", "unicode  "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if got := versionText(nil); !strings.Contains(got, "penstock unknown\n") || !strings.Contains(got, "revision unknown\n") {
		t.Errorf("without build information: %q", got)
	}
}
