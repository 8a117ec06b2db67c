package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/prometheus"
	"github.com/penstock-mcp/penstock/hub/gateway"
)

// hubFlags are the flags of hub and of what is under it, as they were given.
type hubFlags struct {
	config    string
	stdio     bool
	listen    string
	logFormat string
	logLevel  string
}

func newHub() *cobra.Command {
	var flags hubFlags
	cmd := &cobra.Command{
		Use:   "hub -c HUB",
		Short: "Stand in front of MCP servers and enforce a policy",
		Long: `Stand in front of MCP servers and enforce a policy: clients connect to the hub alone, see what the policy shows
them, and call what it allows.

The hub serves stdio, or streamable HTTP at /mcp where the file or --listen says where to listen. It looks at its files
every second, and on SIGHUP at once: policies, servers, callers and the baseline are taken over together while it runs. A
bad file changes nothing and is reported. SIGINT and SIGTERM end it: running calls get ten seconds.

The log goes to standard error. Over stdio nothing but MCP goes to standard output.

The exit code is 0 where it was asked to end, or its stdio client went; 1 where serving failed; 2 where the
configuration could not be used.`,
		Example: `  penstock hub check -c hub.yaml
  penstock hub -c hub.yaml
  penstock hub -c hub.yaml --listen 127.0.0.1:8410`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runHub(cmd, &flags) },
	}
	hubConfigFlag(cmd, &flags)
	f := cmd.Flags()
	f.StringVar(&flags.logFormat, "log-format", "text", "text or json")
	f.StringVar(&flags.logLevel, "log-level", "info", "debug, info, warn or error")
	_ = cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("log-level",
		cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(newHubCheck(), newHubCatalogs(), newHubToken())
	return cmd
}

// hubConfigFlag adds the flags that say what the configuration is.
func hubConfigFlag(cmd *cobra.Command, flags *hubFlags) {
	f := cmd.Flags()
	f.StringVarP(&flags.config, "config", "c", "", "the hub's file, YAML or JSON (required)")
	f.BoolVar(&flags.stdio, "stdio", false, "serve stdio, whatever the file says")
	f.StringVar(&flags.listen, "listen", "", "serve streamable HTTP at this address, whatever the file says")
	_ = cmd.MarkFlagRequired("config")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml", "json")
	cmd.MarkFlagsMutuallyExclusive("stdio", "listen")
}

func (f *hubFlags) load() gateway.LoadOptions {
	return gateway.LoadOptions{Listen: f.listen, Stdio: f.stdio}
}

// logger returns the logger that the flags ask for.
func (f *hubFlags) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level: %q is none of debug, info, warn and error", f.logLevel)
	}
	o := &slog.HandlerOptions{Level: level}
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, fmt.Errorf("--log-format: %q is neither text nor json", f.logFormat)
}

func runHub(cmd *cobra.Command, flags *hubFlags) (err error) {
	log, err := flags.logger(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	c, err := gateway.Load(flags.config, flags.load())
	if err != nil {
		return err
	}
	o := gateway.Options{Logger: log, Server: implementation(), Load: flags.load()}
	if c.Admin != "" {
		p, err := prometheus.New()
		if err != nil {
			return &failure{exitFindings, fmt.Errorf("metrics: %w", err)}
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			err = errors.Join(err, p.Shutdown(ctx))
		}()
		o.MeterProvider, o.Metrics = p.MeterProvider(), p.Handler()
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	defer signal.Stop(again)
	o.Trigger = again
	g, err := gateway.New(c, o)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.Info("the hub starts", "version", implementation().Version, "config", flags.config, "servers", len(c.Servers))
	if err := g.Run(ctx); err != nil {
		return &failure{exitFindings, err}
	}
	log.Info("the hub has ended")
	return nil
}

// implementation is what the hub says it is, to clients and to servers.
func implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: "penstock", Title: "Penstock", Version: moduleVersion()}
}

// moduleVersion is the version the program was built as.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
