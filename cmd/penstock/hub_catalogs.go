package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/penstock-mcp/penstock/hub/gateway"
	"github.com/penstock-mcp/penstock/hub/upstream"
)

func newHubCatalogs() *cobra.Command {
	var flags hubFlags
	var output string
	cmd := &cobra.Command{
		Use:   "catalogs -c HUB -o DIR",
		Short: "Write what the servers of a hub list, for check, lint and baseline create",
		Long: `Connect to each server of a hub once, and write what it lists to DIR/SERVER.json: the catalogs that check, lint,
explain and baseline create read. Definitions are written as they came, so that their fingerprints are those the hub
compares.

A file is replaced when its server has answered. Where one has not, that is said on standard error, its file stays as it
is, and the exit code is 1.`,
		Example: `  penstock hub catalogs -c hub.yaml -o catalogs
  penstock baseline create -o approved.json catalogs`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := gateway.Load(flags.config, flags.load())
			if err != nil {
				return err
			}
			if err := os.MkdirAll(output, 0o755); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return writeCatalogs(ctx, cmd, c, output)
		},
	}
	hubConfigFlag(cmd, &flags)
	cmd.Flags().StringVarP(&output, "output", "o", "", "the folder that gets a file for each server (required)")
	_ = cmd.MarkFlagRequired("output")
	_ = cmd.MarkFlagDirname("output")
	return cmd
}

// writeCatalogs asks every server once and writes what it lists.
func writeCatalogs(ctx context.Context, cmd *cobra.Command, c *gateway.Config, dir string) error {
	var mu sync.Mutex
	listed := map[string]upstream.Catalog{}
	pool := upstream.NewPool(upstream.Options{
		Logger:         slog.New(slog.DiscardHandler),
		Client:         implementation(),
		ConnectTimeout: c.Timeouts.Connect,
		OnCatalog: func(cat upstream.Catalog) {
			mu.Lock()
			defer mu.Unlock()
			if cat.Up { // one that goes again afterwards has said what it has
				listed[cat.Server] = cat
			}
		},
	})
	pool.Apply(c.Servers)
	err := pool.Settled(ctx)
	status := pool.Status()
	if err := errors.Join(err, pool.Close()); err != nil {
		return &failure{exitFindings, err}
	}
	mu.Lock()
	defer mu.Unlock()
	var failed []error
	for _, s := range status {
		cat, ok := listed[s.Server]
		switch {
		case ok:
		case s.State == upstream.Stopped:
			continue // disabled
		default:
			failed = append(failed, fmt.Errorf("%s: nothing was listed: %w", s.Server, s.Err))
			continue
		}
		data, bad := catalogFile(cat)
		failed = append(failed, bad...)
		path := filepath.Join(dir, s.Server+".json")
		if err := replaceFile(path, data); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %d tools, %d prompts, %d resources\n", path, len(cat.Tools), len(cat.Prompts), len(cat.Resources)); err != nil {
			return written(err)
		}
		for _, p := range cat.Problems {
			fmt.Fprintf(cmd.ErrOrStderr(), "penstock: %s: %s: %v\n", s.Server, p.Item, p.Err)
		}
	}
	if len(failed) > 0 {
		return &failure{exitFindings, errors.Join(failed...)}
	}
	return nil
}

// catalogFile is the text of a catalog. A definition that no JSON file can hold is left out, and returned as an error.
func catalogFile(c upstream.Catalog) ([]byte, []error) {
	var b bytes.Buffer
	var bad []error
	n := 0
	item := func(raw []byte) {
		if n++; n > 1 {
			b.WriteByte(',')
		}
		b.WriteString("\n    ")
		b.Write(raw)
	}
	list := func(key string, items func()) {
		fmt.Fprintf(&b, "  %q: [", key)
		n = 0
		if items(); n > 0 {
			b.WriteString("\n  ")
		}
		b.WriteByte(']')
	}
	b.WriteString("{\n")
	list("tools", func() {
		for i := range c.Tools {
			if t := &c.Tools[i]; json.Valid(t.Raw) && utf8.Valid(t.Raw) {
				item(bytes.TrimSpace(t.Raw))
			} else {
				bad = append(bad, fmt.Errorf("%s: %s: its definition is no JSON in UTF-8", c.Server, strconv.Quote(t.Name)))
			}
		}
	})
	b.WriteString(",\n")
	list("prompts", func() {
		for _, p := range c.Prompts {
			raw, err := json.Marshal(map[string]string{"name": p.Name})
			if err == nil {
				item(raw)
			}
		}
	})
	b.WriteString(",\n")
	list("resources", func() {
		for _, r := range c.Resources {
			raw, err := json.Marshal(map[string]string{"uri": r.URI})
			if err == nil {
				item(raw)
			}
		}
	})
	b.WriteString("\n}\n")
	return b.Bytes(), bad
}

// replaceFile writes a file that is there as a whole or not at all.
func replaceFile(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = f.Chmod(0o644)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
