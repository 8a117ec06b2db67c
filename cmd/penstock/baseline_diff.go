package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/catalog"
	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/lockfile"
)

func newBaselineDiff() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "diff LOCKFILE CATALOG…",
		Short: "Show what is not as it was approved",
		Long: `Show every tool of the catalogs that is not as it was approved: the new ones, those that have changed, those that are
gone, and those that cannot be approved at all. Of a changed tool the parts are shown that have changed (description,
input_schema, output_schema, annotations, title and rest, which is everything else), line by line where the file holds
the definition. Characters that do not show, or that change how others show, are written as escapes; a backslash in a
description is doubled.

Below each tool stands what approves it, for penstock baseline approve:

  fs/write=penstock1:3f5a…    as it is shown here, and in no other form
  fs/old=gone                 that it is gone: the file forgets it

A tool that is missing counts as gone only where there is a catalog of its server, and a whole one. Servers of the
file without a catalog are not compared, and named below.

--format json prints an object: "changes", an array of objects with the keys change (new, changed, gone, unusable),
server, name, old, new (fingerprints), approve, error and components, each with component, change (added, removed,
changed), old and new (JSON, null where there is nothing or the file does not hold it); "same", the number of
tools that are as they were approved; and "not_compared", the servers without a whole catalog.

The exit code is 0 where nothing differs, 1 where anything does, and 2 where the file or a catalog could not be used.`,
		Example: `  penstock baseline diff approved.json catalogs
  penstock baseline diff --format json approved.json catalogs | jq -r '.changes[] | .change + " " + .approve'`,
		Args:              cobra.MinimumNArgs(2),
		RunE:              func(cmd *cobra.Command, args []string) error { return runBaselineDiff(cmd, format, args[0], args[1:]) },
		ValidArgsFunction: completeJSON,
	}
	formatFlag(cmd, &format)
	return cmd
}

var textFormats = []string{"text", "json"}

// formatFlag adds the flag of commands that write text or JSON.
func formatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", "text", "text or json")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(textFormats, cobra.ShellCompDirectiveNoFileComp))
}

func checkFormat(format string) error {
	if !slices.Contains(textFormats, format) {
		return fmt.Errorf("--format %q: want text or json", format)
	}
	return nil
}

// comparison is what a lock file and catalogs have to say to each other.
type comparison struct {
	changes     []lockfile.Change
	same        int
	notCompared []string // servers of the file without a whole catalog
}

// goneWord approves that a tool is no longer there.
const goneWord = "gone"

func runBaselineDiff(cmd *cobra.Command, format, path string, paths []string) error {
	if err := checkFormat(format); err != nil {
		return err
	}
	file, catalogs, err := loadBaseline(cmd, path, paths)
	if err != nil {
		return err
	}
	c := compare(file, catalogs)
	stdout := cmd.OutOrStdout()
	out := bufio.NewWriterSize(stdout, 64<<10)
	if format == "json" {
		err = c.writeJSON(out)
	} else {
		_, isTerminal := terminal(stdout)
		err = c.writeText(out, path, painter(isTerminal && coloured()))
	}
	if err == nil {
		err = out.Flush()
	}
	if err := written(err); err != nil {
		return err
	}
	if n := len(c.changes); n > 0 {
		verb := "are"
		if n == 1 {
			verb = "is"
		}
		return &failure{exitFindings, fmt.Errorf("%s %s not as approved", text.Of(n, "tool"), verb)}
	}
	return nil
}

// loadBaseline reads a lock file and catalogs, and reports everything that is wrong with either.
func loadBaseline(cmd *cobra.Command, path string, paths []string) (*lockfile.File, []*catalog.Catalog, error) {
	file, fileErr := lockfile.Load(path)
	catalogs, err := loadCatalogs(cmd, paths)
	if err := errors.Join(fileErr, err); err != nil {
		return nil, nil, err
	}
	return file, catalogs, nil
}

func compare(file *lockfile.File, catalogs []*catalog.Catalog) *comparison {
	c := new(comparison)
	// A name that no server can have, so that an empty list does not mean "all that have tools".
	whole := []string{""}
	for _, cat := range catalogs {
		if !cat.Partial {
			whole = append(whole, cat.Server)
		}
	}
	c.changes = lockfile.Diff(file, toolsOf(catalogs), whole...)
	differs := make(map[engine.Target]bool, len(c.changes))
	for i := range c.changes {
		differs[c.changes[i].Target] = true
	}
	listed := make(map[engine.Target]bool)
	for _, cat := range catalogs {
		for i := range cat.Tools {
			t := cat.Tools[i].Target()
			if !listed[t] && !differs[t] {
				c.same++
			}
			listed[t] = true
		}
	}
	for _, e := range file.Entries() {
		if !slices.Contains(whole, e.Server) && !slices.Contains(c.notCompared, e.Server) {
			c.notCompared = append(c.notCompared, e.Server)
		}
	}
	return c
}

// changeWord is what a change is called where people approve it.
func changeWord(k lockfile.ChangeKind) string {
	switch k {
	case lockfile.Added:
		return "new"
	case lockfile.Removed:
		return goneWord
	default:
		return k.String()
	}
}

// approvalOf returns what approves a change, or "".
func approvalOf(c *lockfile.Change) string {
	name := c.Target.Server + "/" + c.Target.Name + "="
	switch c.Kind {
	case lockfile.Removed:
		return name + goneWord
	case lockfile.Unusable:
		return ""
	default:
		return name + string(c.New)
	}
}

func (c *comparison) writeText(w io.Writer, path string, p painter) error {
	var b strings.Builder
	counts := make(map[lockfile.ChangeKind]int)
	for i := range c.changes {
		change := &c.changes[i]
		counts[change.Kind]++
		name := text.Plain(change.Target.Server) + "/" + text.Plain(change.Target.Name)
		fmt.Fprintf(&b, "%s  %s\n", text.Pad(changeWord(change.Kind), len("unusable")), p.paint(styleBold, name))
		if change.Err != nil {
			fmt.Fprintf(&b, "  %s\n", oneLine(change.Err))
		}
		if change.Kind == lockfile.Changed && len(change.Components) == 0 && change.Err == nil {
			b.WriteString("  The file holds only the fingerprint, so that it cannot be told what has changed.\n")
		}
		for j := range change.Components {
			writeComponent(&b, &change.Components[j], change.Kind, p)
		}
		if t := approvalOf(change); t != "" {
			fmt.Fprintf(&b, "  approve: %s\n", shellWord(t))
		}
		b.WriteByte('\n')
		if b.Len() > 32<<10 {
			if _, err := io.WriteString(w, b.String()); err != nil {
				return err
			}
			b.Reset()
		}
	}
	fmt.Fprintf(&b, "%s: %s new, %s changed, %s gone, %s unusable; %s as approved.\n", path,
		text.Count(counts[lockfile.Added]), text.Count(counts[lockfile.Changed]), text.Count(counts[lockfile.Removed]),
		text.Count(counts[lockfile.Unusable]), text.Of(c.same, "tool"))
	if len(c.notCompared) > 0 {
		fmt.Fprintf(&b, "There is no whole catalog of %s: what is gone there is not shown.\n", plainList(c.notCompared))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func plainList(ids []string) string {
	plain := make([]string, len(ids))
	for i, id := range ids {
		plain[i] = text.Plain(id)
	}
	return strings.Join(plain, ", ")
}

// shellWord returns s as a word for a shell.
func shellWord(s string) string {
	switch {
	case strings.ContainsFunc(s, text.Unseen):
		return "(the name does not print: take the text from --format json)"
	case !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r))
	}):
		return s
	default:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
}
