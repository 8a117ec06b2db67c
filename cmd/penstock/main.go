// Command penstock shows what a policy decides about the tools, resources and prompts of MCP servers.
//
// See penstock help, or the README of the repository.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/source"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/lockfile"
	"github.com/penstock-mcp/penstock/policyfile"
)

// The exit codes.
const (
	exitOK       = 0
	exitFindings = 1 // the input was read, and something about it is not as it should be
	exitUnusable = 2 // the input, or the command line, could not be used
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs one command and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	code := exitUnusable
	var failed *failure
	if errors.As(err, &failed) {
		code = failed.code
	}
	report(stderr, err)
	return code
}

// failure is an error with its own exit code; every other error means unusable input.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// report writes err to w, one line for each of several joined errors. What has a place in a file begins with
// file:line:column, where editors and CI look for it; everything else begins with the name of the program.
func report(w io.Writer, err error) {
	if failed, ok := err.(*failure); ok {
		report(w, failed.err)
		return
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			report(w, e)
		}
		return
	}
	if placed(err) {
		fmt.Fprintln(w, err)
		return
	}
	fmt.Fprintf(w, "penstock: %s\n", strings.TrimSpace(err.Error()))
}

// placed reports whether the text of err begins with a place in a file.
func placed(err error) bool {
	switch e := err.(type) {
	case *source.Error:
		return true
	case *policyfile.EntryError:
		return !e.Position.IsZero()
	case *engine.EntryError:
		return !e.Position.IsZero()
	case *lockfile.EntryError:
		return true
	}
	return false
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "penstock",
		Short: "Decide which MCP tools are seen, and which calls may run",
		Long: `Penstock decides which tools of MCP servers a caller sees, and which calls may run.

A policy document (YAML or JSON) says what is hidden, denied, asked about and allowed. These commands
show what it decides, on real tool lists and on single requests.

Exit codes: 0 good, 1 findings or failures, 2 unusable input. A deny is a result, not a failure.`,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newBaseline(), newCheck(), newDiff(), newEval(), newExplain(), newHub(), newLint(), newSchema(), newTest(), newVersion())
	return root
}
