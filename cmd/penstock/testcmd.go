package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
)

type testFlags struct {
	format        string
	verbose       bool
	failUncovered bool
}

func newTest() *cobra.Command {
	var flags testFlags
	cmd := &cobra.Command{
		Use:   "test FILE…",
		Short: "Run the tests of a policy",
		Long: `Run the tests of a policy. A file of tests (YAML or JSON) names a policy and says what must come out:

  version: 1
  policy: policy.yaml                   # paths are relative to this file
  catalogs: [catalogs]                  # optional: files or folders, as for check
  baseline: approved.json               # optional: without it, tools are approved as they are
  cases:
    - name: reading is allowed
      tool: github/get_issue
      expect: allow
    - name: nothing is written outside of the data
      tool: fs/write
      args: {path: /etc/passwd}
      approver: false
      expect: {outcome: deny, rule: outside}
  properties:
    - name: nothing destructive runs by itself
      subjects: {all: ["github/*", {annotation: {destructive: true}}]}
      never: allow

A case is about one tool, resource or prompt (SERVER/NAME), or about a whole request, as eval reads it. Beside
tool it may have args, annotations, definition (approved, new or changed since it was approved), approver (true),
taint and attributes. A property is about everything in the catalogs that its subjects, which are rules, match
loosely, but for what except matches; it may have the same keys, annotations aside, and says never or always.

An outcome is what the caller gets: allow, ask, deny, or hidden where the filter hides the tool. expect takes one, a
list of them, or a mapping with outcome, action, visible, source, reason, rule (null: none) and new. A property
without a subject fails. docs/policy.md has more.

FILE may be a folder: its *.test.yaml, *.test.yml and *.test.json. What failed is shown with its explanation, and then
which rules decide in no test. --format json and junit are for programs.

The exit code is 0 where every test passes, 1 where one fails, or a rule decides in none and --fail-uncovered is
given, and 2 where the input could not be used, or holds no test.`,
		Example: `  penstock test policy.test.yaml
  penstock test -v --fail-uncovered tests
  penstock test --format junit tests > junit.xml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runTest(cmd, &flags, args) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.format, "format", "text", "text, json or junit")
	f.BoolVarP(&flags.verbose, "verbose", "v", false, "show the tests that pass, too")
	f.BoolVar(&flags.failUncovered, "fail-uncovered", false, "fail where a rule decides in no test")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(testFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var testFormats = []string{"text", "json", "junit"}

// outcome is what came out of all suites.
type testReport struct {
	suites   []suiteResult
	policies []*testedPolicy
	flags    *testFlags
}

type suiteResult struct {
	*setting
	results []*result
}

// count returns the number of tests, of those that failed, and of the rules that decide in none.
func (r *testReport) count() (all, failed, missed int) {
	for _, s := range r.suites {
		all += len(s.results)
		failed += s.failed()
	}
	for _, p := range r.policies {
		missed += len(p.covered.missed())
	}
	return all, failed, missed
}

func (s *suiteResult) failed() (n int) {
	for _, r := range s.results {
		if !r.passed() {
			n++
		}
	}
	return n
}

func runTest(cmd *cobra.Command, flags *testFlags, args []string) error {
	if !slices.Contains(testFormats, flags.format) {
		return fmt.Errorf("--format %q: want text, json or junit", flags.format)
	}
	report, err := runSuites(args)
	if err != nil {
		return err
	}
	report.flags = flags

	stdout := cmd.OutOrStdout()
	out := bufio.NewWriterSize(stdout, 64<<10)
	switch flags.format {
	case "json":
		err = report.writeJSON(out)
	case "junit":
		err = report.writeJUnit(out)
	default:
		columns, isTerminal := terminal(stdout)
		p := printer{columns: columns, colour: isTerminal && coloured()}
		report.print(&p)
		_, err = io.WriteString(out, p.b.String())
	}
	if err == nil {
		err = out.Flush()
	}
	if err := written(err); err != nil {
		return err
	}
	_, failed, missed := report.count()
	var say []string
	if failed > 0 {
		say = append(say, text.Of(failed, "test")+" failed")
	}
	if missed > 0 && flags.failUncovered {
		say = append(say, text.Of(missed, "rule")+" decided in no test")
	}
	if len(say) == 0 {
		return nil
	}
	return &failure{exitFindings, errors.New(strings.Join(say, ", "))}
}

// runSuites reads and runs the suites in the files that args stand for.
func runSuites(args []string) (*testReport, error) {
	files, err := testFiles(args)
	if err != nil {
		return nil, err
	}
	var errs []error
	var suites []*suite
	for _, file := range files {
		s, err := readSuite(file)
		errs = append(errs, err)
		suites = append(suites, s)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var lib library
	report := &testReport{}
	for _, s := range suites {
		at, err := lib.open(s)
		errs = append(errs, err)
		report.suites = append(report.suites, suiteResult{setting: at})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i := range report.suites {
		s := &report.suites[i]
		if s.results, err = s.run(); err != nil {
			return nil, err
		}
	}
	report.policies = lib.policies
	return report, nil
}
