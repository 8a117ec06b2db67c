package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/lockfile"
	"github.com/penstock-mcp/penstock/policyfile"
)

// diffFlags are the flags of diff as they were given.
type diffFlags struct {
	format        string
	baseline      string
	allowWidening bool
}

func newDiff() *cobra.Command {
	var flags diffFlags
	cmd := &cobra.Command{
		Use:   "diff OLD NEW CATALOG…",
		Short: "Show what another policy would change for the tools of real servers",
		Long: `Show every tool of the catalogs that another policy shows, hides or decides about in another way. OLD and NEW are policy
documents, catalogs are those of penstock check, and the resources and prompts that they list are compared, too. What
no catalog lists is represented by one tool, one resource and one prompt of a server and a name that nothing but stars
matches: "anything else".

Each tool is judged in six situations: with somebody to ask and without, and approved as it is, new, and changed since it
was approved. With --baseline the file says which of the three holds. What is shown without a word about somebody to ask
is so with and without.

Wider is what gives a caller more: hidden, deny, ask, allow is the order, and hidden comes before everything, since a
hidden tool cannot be called. So a tool that comes into sight is wider even if it is denied, and what changes behind
the filter, hidden before and after, is neither wider nor narrower; it is shown last. Which rule decides is shown
and does not count. A tool is listed as wider if it is so in any situation.

Conditions on arguments, attributes and taint have no answer without a call. Every combination of answers is tried, and
a condition that both policies have gives both the same answer. A change that needs certain answers has them behind
"when". Conditions are not compared with each other: of one that was only narrowed it is said that NEW may allow more
when the new one holds and the old one does not. So nothing that is wider is missed for the tools that are listed,
and what is marked "when" needs a look.

--format json prints an object: "changes", an array of objects with kind, server, name (null for anything else), wider,
narrower and situations, each with approver, state (approved, new, changed; baseline with --baseline; null for
resources and prompts), direction (wider, narrower, hidden), old, new and when; and "notes".

The exit code is 1 where anything is wider, unless --allow-widening is given, else 0; it is 2 where the input could not
be used.`,
		Example: `  penstock diff policy.yaml policy.new.yaml catalogs
  git show main:policy.yaml > old.yaml && penstock diff old.yaml policy.yaml catalogs
  penstock diff --baseline approved.json --format json old.yaml new.yaml catalogs | jq '.changes[] | select(.wider)'`,
		Args:              cobra.MinimumNArgs(3),
		RunE:              func(cmd *cobra.Command, args []string) error { return runDiff(cmd, &flags, args) },
		ValidArgsFunction: completeDiff,
	}
	formatFlag(cmd, &flags.format)
	f := cmd.Flags()
	f.BoolVar(&flags.allowWidening, "allow-widening", false, "exit with 0 also where something is wider")
	f.StringVar(&flags.baseline, "baseline", "", "file of the approved tools")
	_ = cmd.MarkFlagFilename("baseline", "json")
	return cmd
}

func completeDiff(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) < 2 {
		return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
}

func runDiff(cmd *cobra.Command, flags *diffFlags, args []string) error {
	if err := checkFormat(flags.format); err != nil {
		return err
	}
	old, oldErr := loadDocument(args[0])
	now, newErr := loadDocument(args[1])
	var approved *engine.Baseline
	var baselineErr error
	if flags.baseline != "" {
		var file *lockfile.File
		if file, baselineErr = lockfile.Load(flags.baseline); baselineErr == nil {
			approved = file.Baseline()
		}
	}
	catalogs, err := loadCatalogs(cmd, args[2:])
	if err := errors.Join(oldErr, newErr, baselineErr, err); err != nil {
		return err
	}
	d, err := newDiffer(old, now, catalogs, approved)
	if err != nil {
		return err
	}
	bar := newProgress(cmd.ErrOrStderr())
	err = d.judge(bar)
	bar.clear()
	if err != nil {
		return err
	}
	d.note()

	stdout := cmd.OutOrStdout()
	out := bufio.NewWriterSize(stdout, 64<<10)
	if flags.format == "json" {
		err = d.writeJSON(out)
	} else {
		_, isTerminal := terminal(stdout)
		err = d.writeText(out, painter(isTerminal && coloured()))
	}
	if err == nil {
		err = out.Flush()
	}
	if err := written(err); err != nil {
		return err
	}
	if n := d.count(func(i *diffItem) bool { return i.wider }); n > 0 && !flags.allowWidening {
		verb := "are"
		if n == 1 {
			verb = "is"
		}
		return &failure{exitFindings, fmt.Errorf("%s %s wider (--allow-widening takes that)", text.Of(n, "item"), verb)}
	}
	return nil
}

// loadDocument reads a policy document that compiles.
func loadDocument(path string) (*policyfile.Document, error) {
	doc, err := policyfile.Load(path, policyfile.Options{File: path})
	if err != nil {
		return nil, err
	}
	_, _, err = doc.Compile()
	return doc, err
}
