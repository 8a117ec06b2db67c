package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/catalog"
	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/lint"
	"github.com/penstock-mcp/penstock/policyfile"
)

// lintFlags are the flags of lint as they were given.
type lintFlags struct {
	policy   string
	format   string
	failOn   string
	ignore   []string
	baseline string
	codes    bool
}

var (
	lintFormats = []string{"text", "json", "sarif", "github"}
	failWords   = []string{"error", "warning", "info", "never"}
)

func newLint() *cobra.Command {
	var flags lintFlags
	cmd := &cobra.Command{
		Use:   "lint -p POLICY [CATALOG…]",
		Short: "Find what is likely to be wrong with a policy",
		Long: `Find what is likely to be wrong with a policy: rules that never act, rules that take more than they seem to,
options whose consequences surprise, and tools whose names or hints are not what they look like.

Catalogs are read as check reads them. Give those of all servers or none: an id that is in none of them is reported
as unknown. Without catalogs only the policy itself is looked at.

A finding has a code, a severity, a place, what happens and what to write instead. lint --codes lists all
codes; docs/lint.md explains them. --ignore leaves codes out, given by number or name.

--baseline names the file of the approved tools. With it, lint knows which tools are new; without it no tool is.

--format github prints workflow commands, which GitHub shows beside the lines; --format sarif prints SARIF 2.1.0. With
everything but text, the counts go to standard error.

The exit code is 1 where there is a finding of at least the severity --fail-on says, warning unless given. It is 2
where the policy, a catalog or the baseline could not be used.`,
		Example: `  penstock lint -p policy.yaml
  penstock lint -p policy.yaml catalogs
  penstock lint -p policy.yaml --fail-on error --ignore scope-open,PS206 catalogs
  penstock lint -p policy.yaml --format sarif catalogs >penstock.sarif
  penstock lint --codes`,
		RunE: func(cmd *cobra.Command, args []string) error { return runLint(cmd, &flags, args) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.policy, "policy", "p", "", "the policy document, YAML or JSON (required but for --codes)")
	f.StringVar(&flags.format, "format", "text", "text, json, sarif or github")
	f.StringVar(&flags.failOn, "fail-on", "warning", "the least severity that makes the exit code 1: error, warning, info or never")
	f.StringSliceVar(&flags.ignore, "ignore", nil, "codes to leave out, by number or name")
	f.StringVar(&flags.baseline, "baseline", "", "file of the approved tools")
	f.BoolVar(&flags.codes, "codes", false, "list every code and explain it, as text or json")
	complete := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	_ = cmd.MarkFlagFilename("policy", "yaml", "yml", "json")
	_ = cmd.MarkFlagFilename("baseline", "json")
	_ = cmd.RegisterFlagCompletionFunc("format", complete(lintFormats...))
	_ = cmd.RegisterFlagCompletionFunc("fail-on", complete(failWords...))
	var names []string
	for _, c := range lint.Codes() {
		names = append(names, c.Name)
	}
	_ = cmd.RegisterFlagCompletionFunc("ignore", complete(names...))
	return cmd
}

func runLint(cmd *cobra.Command, flags *lintFlags, paths []string) error {
	if !slices.Contains(lintFormats, flags.format) {
		return fmt.Errorf("--format %q: want text, json, sarif or github", flags.format)
	}
	if !slices.Contains(failWords, flags.failOn) {
		return fmt.Errorf("--fail-on %q: want error, warning, info or never", flags.failOn)
	}
	var unknown []error
	ignored := make(map[*lint.Code]bool)
	for _, word := range flags.ignore {
		c := lint.CodeOf(word)
		if c == nil {
			unknown = append(unknown, fmt.Errorf("--ignore %q: no such code (lint --codes lists them)", word))
		}
		ignored[c] = true
	}
	if err := errors.Join(unknown...); err != nil {
		return err
	}
	if flags.codes {
		if flags.policy != "" || len(paths) > 0 {
			return errors.New("--codes takes no policy and no catalogs")
		}
		return listCodes(cmd.OutOrStdout(), flags.format)
	}
	if flags.policy == "" {
		return errors.New(`required flag(s) "policy" not set`)
	}
	report, err := lintFiles(cmd, flags, paths)
	if err != nil {
		return err
	}
	report.Findings = slices.DeleteFunc(report.Findings, func(f lint.Finding) bool { return ignored[f.Code] })
	if err := printLint(cmd, flags, report); err != nil {
		return err
	}
	severity, err := lint.ParseSeverity(flags.failOn)
	if n := report.Count(severity); err == nil && n > 0 {
		return &failure{exitFindings, fmt.Errorf("%s of severity %s or above (--fail-on)", text.Of(n, "finding"), severity)}
	}
	return nil
}

// lintFiles reads everything and lints it.
func lintFiles(cmd *cobra.Command, flags *lintFlags, paths []string) (*lint.Report, error) {
	doc, policyErr := policyfile.Load(flags.policy, policyfile.Options{File: flags.policy})
	if policyErr == nil {
		_, _, policyErr = doc.Compile()
	}
	bar := newProgress(cmd.ErrOrStderr())
	catalogs, catalogErr := catalog.Load(paths, func(done, all int) { bar.say("reading", done, all) })
	bar.clear()
	in := lint.Input{Document: doc}
	var baselineErr error
	if flags.baseline != "" {
		in.Baseline, baselineErr = readBaseline(flags.baseline)
	}
	if err := errors.Join(policyErr, catalogErr, baselineErr); err != nil {
		return nil, err
	}
	for _, c := range catalogs {
		if c.Partial {
			fmt.Fprintf(cmd.ErrOrStderr(), "penstock: %s: one page of several (it has a nextCursor): the server has more\n", c.File)
		}
		in.Servers = append(in.Servers, lint.Server{ID: c.Server, File: c.File, Tools: c.Tools, Resources: c.Resources, Prompts: c.Prompts})
	}
	return lint.Run(in)
}

func printLint(cmd *cobra.Command, flags *lintFlags, report *lint.Report) error {
	out := cmd.OutOrStdout()
	var err error
	switch flags.format {
	case "json":
		err = report.WriteJSON(out)
	case "sarif":
		err = writeSARIF(out, report)
	case "github":
		err = report.WriteGitHub(out)
	default:
		return written(report.WriteText(out))
	}
	fmt.Fprintln(cmd.ErrOrStderr(), report.Summary())
	return written(err)
}

// listCodes explains every code.
func listCodes(w io.Writer, format string) error {
	switch format {
	case "json":
		type code struct {
			Code     string `json:"code"`
			Name     string `json:"name"`
			Severity string `json:"severity"`
			Summary  string `json:"summary"`
			Happens  string `json:"happens"`
			Write    string `json:"write"`
			Catalogs bool   `json:"catalogs"`
		}
		var all []code
		for _, c := range lint.Codes() {
			all = append(all, code{c.ID, c.Name, c.Severity.String(), c.Summary, c.Happens, c.Write, c.Catalogs})
		}
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return written(e.Encode(all))
	case "text":
	default:
		return fmt.Errorf("--codes --format %s: want text or json", format)
	}
	var b strings.Builder
	for i, c := range lint.Codes() {
		if i > 0 {
			b.WriteByte('\n')
		}
		needs := ""
		if c.Catalogs {
			needs = ", needs catalogs"
		}
		fmt.Fprintf(&b, "%s %s (%s%s)\n  %s.\n  %s\n  %s\n", c.ID, c.Name, c.Severity, needs, capital(c.Summary), c.Happens, c.Write)
	}
	_, err := io.WriteString(w, b.String())
	return written(err)
}

// capital returns s with its first letter, an ASCII one, in upper case.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
