package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/hub/gateway"
)

func newHubCheck() *cobra.Command {
	var flags hubFlags
	cmd := &cobra.Command{
		Use:   "check -c HUB",
		Short: "Read a hub's files and say what it would do",
		Long: `Read a hub's files, the policies, servers and baseline among them, report everything that is wrong with any of
them, and say what the hub would do. No server is started and no address is listened at.

The exit code is 2 where anything could not be used, and 1 where the program of a server could not be started.`,
		Example: `  penstock hub check -c hub.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := gateway.Load(flags.config, flags.load())
			if err != nil {
				return err
			}
			if err := written(printHub(cmd.OutOrStdout(), c)); err != nil {
				return err
			}
			return startable(c)
		},
	}
	hubConfigFlag(cmd, &flags)
	return cmd
}

// startable says which servers have no program that could be started.
func startable(c *gateway.Config) error {
	var errs []error
	for _, id := range sortedKeys(c.Servers) {
		if err := c.Servers[id].Check(); err != nil {
			errs = append(errs, fmt.Errorf("server %s: %w", text.Escape(id), err))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &failure{exitFindings, errors.Join(errs...)}
}

// printHub says what a hub would do, a line for each thing.
func printHub(w io.Writer, c *gateway.Config) error {
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", what, fmt.Sprintf(format, args...))
	}
	if c.Listen == "" {
		line("serves", "stdio, as %s", who(c.Stdio.Principal, c.Stdio.View))
	} else {
		line("serves", "http://%s/mcp", c.Listen)
	}
	if c.Admin != "" {
		line("admin", "http://%s/healthz and /metrics", c.Admin)
	}
	for _, id := range sortedKeys(c.Servers) {
		line("server", "%s: %s", text.Escape(id), text.Escape(c.Servers[id].String()))
	}
	for _, name := range sortedKeys(c.Views) {
		line("view", "%s", text.Escape(name))
	}
	switch {
	case c.Baseline != nil:
		line("baseline", "%s: %d tools approved", c.BaselinePath, c.Baseline.Len())
	case c.BaselinePath != "":
		line("baseline", "%s: not there yet, every tool is new", c.BaselinePath)
	default:
		line("baseline", "none, every tool is new")
	}
	if c.OnlyApproved {
		line("shows", "approved tools only, as long as they are what was approved")
	}
	switch {
	case !c.Ask.Elicit:
		line("asks", "nobody: what would be asked about is denied")
	case c.Ask.Remember:
		line("asks", "the caller's user, who may have a tool allowed from now on")
	default:
		line("asks", "the caller's user")
	}
	if c.Audit.File != "" {
		line("audit", "%s", c.Audit.File)
	}
	if c.Listen != "" {
		for _, caller := range c.Callers {
			line("caller", "%s", who(caller.Principal, caller.View))
		}
		switch {
		case c.OAuth != nil:
			line("caller", "whoever has a token of %s for %s", c.OAuth.Issuer, c.OAuth.Resource)
		case len(c.Callers) == 0:
			line("caller", "everybody on this machine, in the view default")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// who names a caller.
func who(principal, view string) string {
	if principal == "" {
		return fmt.Sprintf("nobody in particular, in the view %s", text.Escape(view))
	}
	return fmt.Sprintf("%s, in the view %s", text.Escape(principal), text.Escape(view))
}
