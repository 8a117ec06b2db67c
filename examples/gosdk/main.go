// Gosdk is a server of the MCP Go SDK with tools, resources and prompts of its own, and a guard before them.
//
//	go run ./gosdk -policy gosdk/policy.yaml
//
// It prints a token for a reader and one for a writer, serves MCP on http://127.0.0.1:8333/, asks in its terminal where
// the policy says ask, and writes an audit line for each request. SIGHUP reads the policy again.
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
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

func main() {
	address := flag.String("listen", "127.0.0.1:8333", "address to listen on")
	policy := flag.String("policy", "policy.yaml", "policy file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *address)
	if err == nil {
		err = run(ctx, listener, *policy)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gosdk:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, and closes the listener.
func run(ctx context.Context, listener net.Listener, policy string) error {
	defer listener.Close()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	server, e, err := guarded(policy, newTerminal(os.Stdin, os.Stdout), log)
	if err != nil {
		return err
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	go func() {
		for range hangup {
			reload(e, policy, log)
		}
	}()

	callers := callers{}
	fmt.Printf("reader: Authorization: Bearer %s\n", callers.add("reader"))
	fmt.Printf("writer: Authorization: Bearer %s\n", callers.add("writer", "write"))
	s := &http.Server{Handler: handler(server, callers), ReadHeaderTimeout: 10 * time.Second}
	stopped := context.AfterFunc(ctx, func() { s.Close() })
	defer stopped()
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// reload applies the policy as the file has it now, all of it or, where anything is wrong with it, nothing.
func reload(e *engine.Engine, policy string, log *slog.Logger) {
	c, err := config(policy)
	if err == nil {
		err = e.Apply(c)
	}
	if err != nil {
		log.Error("the policy stays as it was", "error", err)
		return
	}
	log.Info("policy reloaded", "generation", e.Snapshot().Generation())
}

// callers are the users by the digests of their tokens.
type callers map[[sha256.Size]byte]*auth.TokenInfo

func (c callers) add(user string, scopes ...string) (token string) {
	token = rand.Text()
	c[sha256.Sum256([]byte(token))] = &auth.TokenInfo{UserID: user, Scopes: scopes, Expiration: time.Now().Add(12 * time.Hour)}
	return token
}

func (c callers) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	info, ok := c[sha256.Sum256([]byte(token))]
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	return info, nil
}

// handler serves MCP to whoever has a token.
func handler(server *mcp.Server, c callers) http.Handler {
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	return auth.RequireBearerToken(c.verify, nil)(h)
}
