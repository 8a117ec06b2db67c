package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/fold"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and what names are compared by",
		Long: `Print the version of penstock, of Go, of the Unicode tables and of the source it was built from.

The Unicode version matters to decisions: deny, ask and exclude rules compare names in lower case, and which letters
have one is a matter of these tables.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo()
			_, err := fmt.Fprint(cmd.OutOrStdout(), versionText(info))
			return written(err)
		},
	}
}

// versionText is four lines, each a word and its value. A nil info is that of a program built without modules.
func versionText(info *debug.BuildInfo) string {
	version, revision := "unknown", "unknown"
	if info != nil {
		version = info.Main.Version
		if r := revisionOf(info); r != "" {
			revision = r
		}
	}
	return fmt.Sprintf("penstock %s\ngo       %s\nunicode  %s\nrevision %s\n",
		version, strings.TrimPrefix(runtime.Version(), "go"), fold.Unicode, revision)
}

// revisionOf returns the commit, its time and whether the source was changed since, or "".
func revisionOf(info *debug.BuildInfo) string {
	vcs := make(map[string]string)
	for _, s := range info.Settings {
		vcs[s.Key] = s.Value
	}
	r := vcs["vcs.revision"]
	if r == "" {
		return ""
	}
	if t := vcs["vcs.time"]; t != "" {
		r += ", " + t
	}
	if vcs["vcs.modified"] == "true" {
		r += ", modified"
	}
	return r
}
