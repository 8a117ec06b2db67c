package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/catalog"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// explainFlags are the flags of explain as they were given. What the request is made of has the flags of check.
type explainFlags struct {
	checkFlags
	approver    bool
	args        string
	annotations string
}

func newExplain() *cobra.Command {
	var flags explainFlags
	cmd := &cobra.Command{
		Use:   "explain -p POLICY SERVER/TOOL [CATALOG…]",
		Short: "Show step by step why a call gets the decision it gets",
		Long: `Show step by step why a call gets the decision it gets: whether the tool is seen, then deny, pin, ask, allow and
default, in this order, each with every rule that matches, its text and its place; what each condition said; and the
rules that look as if they were meant to match and do not.

The call is SERVER/TOOL; resource:SERVER/URI and prompt:SERVER/NAME stand for a resource and a prompt. The first "/"
divides them. Catalogs, as for check, give the tool's hints and definition; a tool that they do not list is not found,
and what the policy would say of it is shown all the same. Without catalogs a tool of that name is taken to be
there, without a definition, and with the hints of --annotations if there are any.

The request is that of check: there is somebody to ask unless --no-approver is given, and a tool counts as approved as
it is, unless --baseline names a file of approved tools or --new says that none is approved. There are no
arguments but those of --args.

--format json prints an object with the keys of check (kind, server, name, visible, action, source, reason, rule, new)
and with found, error, message, trusted, hints, filter, steps, near_misses, suggestions and notes.

A deny is a result, not a failure: the exit code is 0. It is 2 where the input could not be used.`,
		Example: `  penstock explain -p policy.yaml github/delete_repo catalogs
  penstock explain -p policy.yaml --no-approver --args '{"path": "/etc/passwd"}' fs/write
  penstock explain -p policy.yaml --annotations '{"readOnlyHint": true}' --new fs/read
  penstock explain -p policy.yaml resource:fs/file:///etc/passwd`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runExplain(cmd, &flags, args[0], args[1:]) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	policyFlag(cmd, &flags.policy)
	f := cmd.Flags()
	f.StringVar(&flags.format, "format", "text", "text or json")
	f.StringVar(&flags.args, "args", "", "arguments of the call, a JSON object, or @FILE with one")
	f.BoolVar(&flags.approver, "approver", false, "there is somebody to ask, which is the default")
	f.BoolVar(&flags.noApprover, "no-approver", false, "nobody can be asked, so what would be asked is denied")
	f.StringSliceVar(&flags.taint, "taint", nil, "ids of the servers whose output the caller has seen")
	f.StringVar(&flags.attributes, "attributes", "", "attributes of the caller, a JSON object, or @FILE with one")
	f.StringVar(&flags.annotations, "annotations", "", "what the server says of the tool, a JSON object, or @FILE with one")
	f.BoolVar(&flags.allNew, "new", false, "no tool is approved: every tool is new")
	f.StringVar(&flags.baseline, "baseline", "", "file of the approved tools")
	cmd.MarkFlagsMutuallyExclusive("new", "baseline")
	cmd.MarkFlagsMutuallyExclusive("approver", "no-approver")
	for _, name := range []string{"args", "taint", "attributes", "annotations"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveNoFileComp))
	}
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(explainFormats, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagFilename("baseline", "json")
	return cmd
}

var explainFormats = []string{"text", "json"}

func runExplain(cmd *cobra.Command, flags *explainFlags, target string, paths []string) error {
	if !slices.Contains(explainFormats, flags.format) {
		return fmt.Errorf("--format %q: want text or json", flags.format)
	}
	req, err := checkRequest(&flags.checkFlags)
	if err != nil {
		return err
	}
	args, hints, err := flags.call()
	if err != nil {
		return err
	}
	loaded, policyErr := loadRules(flags.policy)
	catalogs, err := catalog.Load(paths, nil)
	if err := errors.Join(policyErr, err); err != nil {
		return err
	}
	warnPartial(cmd, catalogs)
	s, err := parseSubject(target, catalogs)
	if err != nil {
		return err
	}
	if s.kind != engine.Tools && (args != nil || hints != nil) {
		return fmt.Errorf("a %s has no arguments and no annotations", kindWords[s.kind])
	}
	s.find(catalogs)
	if hints != nil {
		s.tool.Hints = *hints
	}
	s.approve(req, flags, catalogs)
	x := s.explain(loaded, args, req)
	if x.Err != nil {
		return x.Err
	}

	stdout := cmd.OutOrStdout()
	out := bufio.NewWriterSize(stdout, 64<<10)
	if flags.format == "json" {
		err = writeExplanationJSON(out, x)
	} else {
		columns, isTerminal := terminal(stdout)
		p := printer{columns: columns, colour: isTerminal && coloured()}
		p.explanation(x)
		_, err = out.WriteString(p.b.String())
	}
	if err == nil {
		err = out.Flush()
	}
	return written(err)
}

// call reads what the flags say of the call itself. hints is nil where they say nothing.
func (flags *explainFlags) call() (args map[string]any, hints *engine.Hints, err error) {
	var errs []error
	if flags.args != "" {
		data, err := literalOrFile(flags.args)
		if err == nil {
			args, err = policyfile.DecodeArguments(data)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--args: %w", err))
		}
	}
	if flags.annotations != "" {
		data, err := literalOrFile(flags.annotations)
		var h engine.Hints
		if err == nil {
			h, err = engine.HintsFromJSON(data)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--annotations: %w", err))
		}
		hints = &h
	}
	return args, hints, errors.Join(errs...)
}

// literalOrFile returns arg, or what is in the file that it names behind an @.
func literalOrFile(arg string) ([]byte, error) {
	if file, ok := strings.CutPrefix(arg, "@"); ok {
		return os.ReadFile(file)
	}
	return []byte(arg), nil
}

// explain explains what rs say of a call of the subject. s.tool is complete.
func (s *subject) explain(rs rules, args map[string]any, req *engine.Request) *explanation {
	x := &explanation{subject: s}
	switch s.kind {
	case engine.Resources:
		x.Explanation = rs.policy.ExplainResource(s.server, s.name, req)
	case engine.Prompts:
		x.Explanation = rs.policy.ExplainPrompt(s.server, s.name, req)
	default:
		call := engine.Call{Server: s.server, Name: s.name, Args: args}
		x.Explanation = engine.Explain(context.Background(), rs.filter, rs.policy, &call, &s.tool, req)
	}
	x.Found = !s.missing
	return x
}

// explanation is what explain shows.
type explanation struct {
	*subject
	engine.Explanation
}

// visible is what the filter says, which has nothing to say of resources and prompts.
func (x *explanation) visible() visibility {
	if x.kind != engine.Tools {
		return notFiltered
	}
	return visibilityOf(x.Visible)
}
