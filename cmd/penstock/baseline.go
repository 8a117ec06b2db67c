package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/catalog"
	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/lockfile"
)

func newBaseline() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "Keep a file of the tools that were approved",
		Long: `Keep a file of the tools that were approved, each with what it looked like then.

With a baseline, a policy asks about a tool that has changed since, or denies it, and lets patterns with a star allow
only the tools that the baseline holds. The file belongs into version control: create it once, and from then on
let each change of a tool be a change of the file that somebody reviews.

  penstock baseline create -o approved.json catalogs    everything is approved as it is
  penstock baseline diff approved.json catalogs         what is new, gone or another one, and how
  penstock baseline approve approved.json catalogs fs/write=penstock1:3f5a…
                                                        what diff showed, and nothing else

The file is

  {"version": 1, "tools": [{"server", "name", "fingerprint", "digests", "definition"}, …]}

sorted by server and name, a line for each value, without the digests or the definition if you like. A damaged one is
an error, and never an empty baseline; so is one in which a definition was edited and its fingerprint was not.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBaselineCreate(), newBaselineDiff(), newBaselineApprove())
	return cmd
}

func newBaselineCreate() *cobra.Command {
	var output string
	var digestsOnly, force bool
	cmd := &cobra.Command{
		Use:   "create -o LOCKFILE CATALOG…",
		Short: "Approve every tool of the catalogs as it is",
		Long: `Approve every tool of the catalogs as it is, and write that to a new file. Catalogs are those of penstock check.

The file holds the definitions, so that diff can show how a tool has changed. With --digests-only it is smaller, and
diff says which part of a tool has changed, and shows only what it is now.

A tool that has no fingerprint (a key in its definition stands twice, for example) and one that its server lists twice
cannot be approved. Each is named on standard error, the others are written, and the exit code is 1: those tools
stay new.

A file that exists is not overwritten: that would approve every change that nobody has looked at. --force does it.
LOCKFILE may be -, which is standard output.`,
		Example: `  penstock baseline create -o approved.json catalogs
  penstock baseline create -o approved.json --digests-only catalogs/github.json catalogs/fs.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBaselineCreate(cmd, output, lockfile.Options{DigestsOnly: digestsOnly}, force, args)
		},
		ValidArgsFunction: completeJSON,
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "the file to write (required)")
	f.BoolVar(&digestsOnly, "digests-only", false, "leave the definitions out")
	f.BoolVar(&force, "force", false, "overwrite the file: everything is approved anew")
	_ = cmd.MarkFlagRequired("output")
	_ = cmd.MarkFlagFilename("output", "json")
	return cmd
}

func completeJSON(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
}

func runBaselineCreate(cmd *cobra.Command, output string, o lockfile.Options, force bool, paths []string) error {
	catalogs, err := loadCatalogs(cmd, paths)
	if err != nil {
		return err
	}
	file, refused := lockfile.New(toolsOf(catalogs), o)
	out := cmd.OutOrStdout()
	if output == "-" {
		data, err := file.Encode()
		if err == nil {
			_, err = out.Write(data)
		}
		if err != nil {
			return written(err)
		}
	} else {
		save := file.Save
		if force {
			save = file.Replace
		}
		err := save(output)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s exists: approve what has changed with penstock baseline approve, or everything anew with --force", output)
		}
		if err != nil {
			return &failure{exitFindings, err}
		}
		_, err = fmt.Fprintf(out, "%s: %s of %s approved.\n", output, text.Of(file.Len(), "tool"), text.Of(len(catalogs), "server"))
		if err := written(err); err != nil {
			return err
		}
	}
	if len(refused) == 0 {
		return nil
	}
	errs := make([]error, len(refused))
	for i, r := range refused {
		errs[i] = fmt.Errorf("%s/%s is not approved: %s", text.Plain(r.Target.Server), text.Plain(r.Target.Name), oneLine(r.Err))
	}
	return failures(errs)
}

// failures are findings that have a line each on standard error.
func failures(errs []error) error {
	return &failure{exitFindings, errors.Join(errs...)}
}

// loadCatalogs reads catalogs and warns about those that are not whole.
func loadCatalogs(cmd *cobra.Command, paths []string) ([]*catalog.Catalog, error) {
	bar := newProgress(cmd.ErrOrStderr())
	catalogs, err := catalog.Load(paths, func(done, all int) { bar.say("reading", done, all) })
	bar.clear()
	if err == nil {
		warnPartial(cmd, catalogs)
	}
	return catalogs, err
}

// toolsOf returns the tools of all catalogs.
func toolsOf(catalogs []*catalog.Catalog) []engine.Tool {
	var all []engine.Tool
	for _, c := range catalogs {
		all = append(all, c.Tools...)
	}
	return all
}

// readBaseline reads what a lock file approves.
func readBaseline(path string) (*engine.Baseline, error) {
	file, err := lockfile.Load(path)
	if err != nil {
		return nil, err
	}
	return file.Baseline(), nil
}
