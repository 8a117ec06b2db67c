// Mcpgo is a server of mark3labs/mcp-go with tools, task tools, resources and prompts, guarded by the engine alone.
//
//	go run ./mcpgo -policy mcpgo/policy.yaml
//
// It prints a token for a reader and one for a writer, and serves MCP on http://127.0.0.1:8334/mcp.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

func main() {
	address := flag.String("listen", "127.0.0.1:8334", "address to listen on")
	policy := flag.String("policy", "policy.yaml", "policy file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", *address)
	if err == nil {
		err = run(ctx, listener, *policy)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcpgo:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, and closes the listener.
func run(ctx context.Context, listener net.Listener, policy string) error {
	defer listener.Close()
	s, err := newServer(policy)
	if err != nil {
		return err
	}
	users := users{}
	fmt.Printf("reader: Authorization: Bearer %s\n", users.add("reader"))
	fmt.Printf("writer: Authorization: Bearer %s\n", users.add("writer"))

	h := &http.Server{Handler: handler(s, users), ReadHeaderTimeout: 10 * time.Second}
	stopped := context.AfterFunc(ctx, func() { h.Close() })
	defer stopped()
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newEngine compiles a policy file.
func newEngine(path string) (*engine.Engine, error) {
	doc, err := policyfile.Load(path, policyfile.Options{})
	if err != nil {
		return nil, err
	}
	filter, policy, err := doc.Compile()
	if err != nil {
		return nil, err
	}
	return engine.New(engine.Config{Views: map[string]engine.View{view: {Filter: filter, Policy: policy}}})
}

// newServer returns the guarded server. The guard is told of everything that is added.
func newServer(policy string) (*server.MCPServer, error) {
	e, err := newEngine(policy)
	if err != nil {
		return nil, err
	}
	g := &guard{engine: e, resources: map[string]bool{}}
	s := server.NewMCPServer("desk", "1", append(g.options(), server.WithTaskCapabilities(false, true, true))...)

	var defs []mcp.Tool
	for _, t := range tools {
		s.AddTool(t.Tool, t.Handler)
		defs = append(defs, t.Tool)
	}
	for _, t := range taskTools {
		s.AddTaskTool(t.Tool, t.Handler)
		defs = append(defs, t.Tool)
	}
	if err := g.refresh(defs); err != nil {
		return nil, err
	}
	for _, r := range resources {
		s.AddResource(r, read)
		g.resources[r.URI] = true
	}
	for _, t := range templates {
		s.AddResourceTemplate(t, read)
		g.templates = append(g.templates, t)
	}
	for _, p := range prompts {
		s.AddPrompt(p, prompt)
	}
	return s, nil
}

// users are the names of callers by the digests of their tokens.
type users map[[sha256.Size]byte]string

func (u users) add(name string) (token string) {
	token = rand.Text()
	u[sha256.Sum256([]byte(token))] = name
	return token
}

// handler serves MCP to whoever has a token, and puts the name of whoever it is into the context of each request.
func handler(s *server.MCPServer, u users) http.Handler {
	h := server.NewStreamableHTTPServer(s, server.WithHTTPContextFunc(func(ctx context.Context, r *http.Request) context.Context {
		return context.WithValue(ctx, callerKey{}, r.Context().Value(callerKey{}))
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		user, ok := u[sha256.Sum256([]byte(token))]
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "no valid token", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, user)))
	})
}
