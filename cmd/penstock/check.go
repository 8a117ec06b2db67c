package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/catalog"
	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// checkFlags are the flags of check as they were given.
type checkFlags struct {
	policy     string
	format     string
	only       []string
	noApprover bool
	taint      []string
	attributes string
	allNew     bool
	baseline   string
}

func newCheck() *cobra.Command {
	var flags checkFlags
	cmd := &cobra.Command{
		Use:   "check -p POLICY [CATALOG…]",
		Short: "Show what a policy decides about every tool of real servers",
		Long: `Show what a policy decides about every tool of the given catalogs.

A catalog is a file that holds the result of tools/list, {"tools": […]}, or the JSON-RPC response around it; it may
hold "resources" and "prompts", too, which are shown where the policy's scope has them. A folder stands for every
*.json file in it. The id of the server is the base name of the file without its last extension. Without a catalog
only the policy is checked.

Each tool is judged as if it were called now, without arguments: a rule about an argument fails, and so matches
in deny and ask and does not in allow. There is somebody to ask unless --no-approver is given.

Every tool counts as approved as it stands in the catalogs, unless --baseline names a file of approved fingerprints or
--new says that no tool is approved. penstock baseline create writes such a file.

The decision is the policy's, also for a tool that the filter hides; a hub answers "not found" there.

A hub quarantines a tool whose name is empty, too long or holds control or format characters, and every tool whose
name the server lists more than once: it lists and calls none of them. Here each has its row, never visible, with what
the policy would decide; the catalogs as their own baseline do not approve it, and standard error names it.

--format json prints an array of objects with the keys kind, server, name, visible, action, source, reason, rule
and new; rule is null where no rule decided, and resources and prompts, which are not filtered, have no visible.
--format csv prints the same columns, empty where JSON has null or nothing. A cell that a spreadsheet could take
for a formula, since it begins with = + - @ ' or a control character, has a ' in front. Apart from that CSV has names
as the server sent them, in quotes where they hold a line break, and nothing is escaped: it is for programs, and not
for a terminal. JSON escapes what does not print, and the table shows such a name quoted.
With both, the counts go to standard error.

A deny is a result, not a failure: the exit code is 0. It is 2 where the policy, a catalog or the baseline could not
be used.`,
		Example: `  penstock check -p policy.yaml catalogs
  penstock check -p policy.yaml --only deny,ask catalogs/github.json
  penstock check -p policy.yaml --no-approver --taint web --attributes '{"groups": ["admins"]}' catalogs
  penstock check -p policy.yaml --format json catalogs | jq -r 'select(.[].visible).name'`,
		RunE: func(cmd *cobra.Command, args []string) error { return runCheck(cmd, &flags, args) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	policyFlag(cmd, &flags.policy)
	f := cmd.Flags()
	f.StringVar(&flags.format, "format", "table", "table, json or csv")
	f.StringSliceVar(&flags.only, "only", nil, "show only these decisions: deny, ask, allow; the counts are of all")
	f.BoolVar(&flags.noApprover, "no-approver", false, "nobody can be asked, so what would be asked is denied")
	f.StringSliceVar(&flags.taint, "taint", nil, "ids of the servers whose output the caller has seen")
	f.StringVar(&flags.attributes, "attributes", "", "attributes of the caller, a JSON object, or @FILE with one")
	f.BoolVar(&flags.allNew, "new", false, "no tool is approved: every tool is new")
	f.StringVar(&flags.baseline, "baseline", "", "file of the approved tools")
	cmd.MarkFlagsMutuallyExclusive("new", "baseline")
	complete := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	_ = cmd.RegisterFlagCompletionFunc("format", complete(formats...))
	_ = cmd.RegisterFlagCompletionFunc("only", complete(engine.Deny.String(), engine.Ask.String(), engine.Allow.String()))
	_ = cmd.RegisterFlagCompletionFunc("attributes", complete())
	_ = cmd.RegisterFlagCompletionFunc("taint", complete())
	_ = cmd.MarkFlagFilename("baseline", "json")
	return cmd
}

var formats = []string{"table", "json", "csv"}

func runCheck(cmd *cobra.Command, flags *checkFlags, paths []string) error {
	if !slices.Contains(formats, flags.format) {
		return fmt.Errorf("--format %q: want table, json or csv", flags.format)
	}
	if cmd.Flags().Changed("only") && len(flags.only) == 0 {
		return errors.New("--only: want deny, ask or allow")
	}
	show, err := parseOnly(flags.only)
	if err != nil {
		return err
	}
	req, err := checkRequest(flags)
	if err != nil {
		return err
	}
	loaded, policyErr := loadRules(flags.policy)
	bar := newProgress(cmd.ErrOrStderr())
	catalogs, err := catalog.Load(paths, func(done, all int) { bar.say("reading", done, all) })
	bar.clear()
	if err := errors.Join(policyErr, err); err != nil {
		return err
	}
	warnPartial(cmd, catalogs)
	warnQuarantined(cmd.ErrOrStderr(), catalogs)
	notes := []string{}
	switch {
	case flags.allNew:
		notes = append(notes, "--new: no tool is approved.")
	case req.Approved != nil:
		notes = append(notes, fmt.Sprintf("The baseline is %s.", flags.baseline))
	default:
		req.Approved = catalog.Baseline(catalogs)
		notes = append(notes, "No --baseline: the catalogs are their own baseline.")
	}
	if len(catalogs) == 0 {
		notes = []string{"No catalog: only the policy was checked."}
	}
	c := checker{rules: loaded, req: req, show: show, bar: bar}
	rows, err := c.judge(catalogs)
	bar.clear()
	if err != nil {
		return err
	}
	return written(c.print(cmd, flags.format, rows, notes))
}

// warnPartial says which of the catalogs are not all that their server lists.
func warnPartial(cmd *cobra.Command, catalogs []*catalog.Catalog) {
	for _, c := range catalogs {
		if c.Partial {
			fmt.Fprintf(cmd.ErrOrStderr(), "penstock: %s: one page of several (it has a nextCursor): the server has more\n", c.File)
		}
	}
}

// warnQuarantined names the tools that a hub keeps out, a line for each name.
func warnQuarantined(w io.Writer, catalogs []*catalog.Catalog) {
	for _, c := range catalogs {
		if len(c.Quarantined) == 0 {
			continue
		}
		verb := "are"
		if len(c.Quarantined) == 1 {
			verb = "is"
		}
		fmt.Fprintf(w, "penstock: %s: %s %s quarantined: a hub lists and calls none of them\n",
			c.File, text.Of(len(c.Quarantined), "tool"), verb)
		said := make(map[string]bool)
		for _, q := range c.Quarantined {
			if !said[q.Name] {
				said[q.Name] = true
				fmt.Fprintf(w, "  %s: %s\n", text.Clip(text.Plain(q.Name), padLimit), q.Reason)
			}
		}
	}
}

// checkRequest is the request that every tool is judged by.
func checkRequest(flags *checkFlags) (*engine.Request, error) {
	req := &engine.Request{HasApprover: !flags.noApprover, Taint: flags.taint}
	var errs []error
	for _, id := range flags.taint {
		if err := engine.CheckServerID(id); err != nil {
			errs = append(errs, fmt.Errorf("--taint: %w", err))
		}
	}
	if flags.attributes != "" {
		var err error
		if req.Attributes, err = parseAttributes(flags.attributes); err != nil {
			errs = append(errs, fmt.Errorf("--attributes: %w", err))
		}
	}
	if flags.baseline != "" {
		var err error
		if req.Approved, err = readBaseline(flags.baseline); err != nil {
			errs = append(errs, err)
		}
	}
	return req, errors.Join(errs...)
}

func parseAttributes(arg string) (map[string]any, error) {
	data := []byte(arg)
	if file, ok := strings.CutPrefix(arg, "@"); ok {
		var err error
		if data, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	return policyfile.DecodeObject(data)
}

// parseOnly returns which actions to show; all where only is empty.
func parseOnly(only []string) (show [engine.Allow + 1]bool, err error) {
	actions := []engine.Action{engine.Deny, engine.Ask, engine.Allow}
	for _, word := range only {
		i := slices.IndexFunc(actions, func(a engine.Action) bool { return a.String() == word })
		if i < 0 {
			return show, fmt.Errorf("--only %q: want deny, ask or allow", word)
		}
		show[actions[i]] = true
	}
	if len(only) == 0 {
		for _, a := range actions {
			show[a] = true
		}
	}
	return show, nil
}

// A row is one tool, resource or prompt and what is decided about it.
type row struct {
	kind         engine.Kind
	server, name string
	visible      visibility
	decision     engine.Decision
}

var kindWords = [...]string{engine.Tools: "tool", engine.Resources: "resource", engine.Prompts: "prompt"}

// checker judges catalogs and prints what came out.
type checker struct {
	rules
	req  *engine.Request
	show [engine.Allow + 1]bool
	bar  *progress

	servers int
	kinds   [engine.Prompts + 1]counts
}

// counts are of all rows of one kind, also of those that are not shown.
type counts struct {
	all, hidden int
	actions     [engine.Allow + 1]int
}

// judge returns the rows to show, grouped by server, and counts all.
func (c *checker) judge(catalogs []*catalog.Catalog) ([]row, error) {
	ctx := context.Background()
	c.servers = len(catalogs)
	var rows []row
	for i, cat := range catalogs {
		c.bar.say("checking", i, len(catalogs))
		out := cat.Quarantined
		for j := range cat.Tools {
			tool := &cat.Tools[j]
			call := engine.Call{Server: tool.Server, Name: tool.Name}
			d, err := c.policy.Evaluate(ctx, &call, tool, c.req)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", cat.File, err)
			}
			seen := visibilityOf(c.filter.Visible(ctx, tool, c.req))
			if len(out) > 0 && out[0].Index == j {
				out, seen = out[1:], hidden
			}
			rows = c.add(rows, row{engine.Tools, tool.Server, tool.Name, seen, d})
		}
		for _, other := range []struct {
			kind     engine.Kind
			names    []string
			evaluate func(server, name string, req *engine.Request) (engine.Decision, error)
		}{
			{engine.Resources, cat.Resources, c.policy.EvaluateResource},
			{engine.Prompts, cat.Prompts, c.policy.EvaluatePrompt},
		} {
			for _, name := range other.names {
				d, err := other.evaluate(cat.Server, name, c.req)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", cat.File, err)
				}
				if d.Source != engine.SourceScope { // a kind the policy is not about has no rows
					rows = c.add(rows, row{other.kind, cat.Server, name, notFiltered, d})
				}
			}
		}
	}
	return rows, nil
}

func (c *checker) add(rows []row, r row) []row {
	n := &c.kinds[r.kind]
	n.all++
	n.actions[r.decision.Action]++
	if r.visible == hidden {
		n.hidden++
	}
	if !c.show[r.decision.Action] {
		return rows
	}
	return append(rows, r)
}

// print writes rows in the given format. The notes and the counts stand below a table; the other formats are for
// programs, so there they go to standard error.
func (c *checker) print(cmd *cobra.Command, format string, rows []row, notes []string) error {
	stdout := cmd.OutOrStdout()
	out := bufio.NewWriterSize(stdout, 64<<10)
	var summary io.Writer = out
	var err error
	switch format {
	case "json":
		summary, err = cmd.ErrOrStderr(), printJSON(out, rows)
	case "csv":
		summary, err = cmd.ErrOrStderr(), printCSV(out, rows)
	default:
		columns, isTerminal := terminal(stdout)
		err = printTable(out, rows, tableStyle{columns: columns, colour: isTerminal && coloured()})
	}
	if err != nil {
		return err
	}
	if err := c.summarize(summary, len(rows), notes); err != nil {
		return err
	}
	return out.Flush()
}
