// Httpgate stands before one MCP server over HTTP, with nothing but net/http and the engine.
//
//	go run ./httpgate -server http://127.0.0.1:9000/mcp -policies httpgate/policies
//
// Each file in the folder of policies is a view. It prints a token for a caller of each, serves MCP on
// http://127.0.0.1:8335/, and asks the server for its tools every half minute: a tool that changes in between is judged by
// its old definition until then.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

func main() {
	address := flag.String("listen", "127.0.0.1:8335", "address to listen on")
	url := flag.String("server", "", "URL of the MCP server")
	policies := flag.String("policies", "policies", "folder of policies, VIEW.yaml each")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", *address)
	if err == nil {
		err = run(ctx, listener, *url, *policies)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "httpgate:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, and closes the listener.
func run(ctx context.Context, listener net.Listener, url, policies string) error {
	defer listener.Close()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	views, names, err := readViews(policies)
	if err != nil {
		return err
	}
	e, err := engine.New(engine.Config{Views: views})
	if err != nil {
		return err
	}
	s := &server{url: url, client: &http.Client{Timeout: time.Minute}, log: log}
	g := &gate{engine: e, callers: callers{}, backend: s, log: log}
	for _, view := range names {
		token := rand.Text()
		g.callers[sha256.Sum256([]byte(token))] = caller{user: "one of " + view, view: view}
		fmt.Printf("%s: Authorization: Bearer %s\n", view, token)
	}
	go keep(ctx, s, e, log)

	// Web pages of other origins are kept out, even if they get hold of a token.
	h := &http.Server{Handler: http.NewCrossOriginProtection().Handler(g), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	stopped := context.AfterFunc(ctx, func() { h.Close() })
	defer stopped()
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// keep refreshes the engine now and then.
func keep(ctx context.Context, s *server, e *engine.Engine, log *slog.Logger) {
	tick := time.NewTicker(30 * time.Second)
	defer tick.Stop()
	for {
		report, err := s.refresh(ctx, e)
		if err != nil {
			log.Error("the server has no tools", "error", err)
		}
		for _, q := range report.Quarantined {
			log.Warn("quarantined", "tool", q.Name, "reason", q.Reason)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// readViews reads a policy for each view, and returns their names in order.
func readViews(dir string) (map[string]engine.View, []string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, nil, err
	}
	if len(files) == 0 {
		return nil, nil, fmt.Errorf("%s holds no policies", dir)
	}
	views := map[string]engine.View{}
	var names []string
	for _, file := range files {
		doc, err := policyfile.Load(file, policyfile.Options{})
		if err != nil {
			return nil, nil, err
		}
		filter, policy, err := doc.Compile()
		if err != nil {
			return nil, nil, err
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		views[name] = engine.View{Filter: filter, Policy: policy}
		names = append(names, name)
	}
	return views, names, nil
}
