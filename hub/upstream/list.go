// Reading all that a server offers, within bounds.

package upstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

const (
	maxItems     = 20_000   // of one list: twenty times the largest catalog that was seen
	maxPages     = 20_000   // of one list
	maxListBytes = 64 << 20 // of all pages of one list together
	maxProblems  = 200      // of one catalog that are kept
)

// listing is a catalog with what the pool itself needs to know of it. It is immutable.
type listing struct {
	catalog Catalog
	sum     [sha256.Size]byte // equal for equal catalogs
	tools   map[string]known
	headers []*mcp.Tool // the tools whose arguments go into HTTP headers
}

// known is what the pool knows of a tool's name.
type known struct {
	fingerprint engine.Fingerprint
	times       int
}

// lister reads the lists of one session.
type lister struct {
	s *session
	c Catalog
	h hash.Hash
}

// list reads everything that the server says it has. A list past a bound and a server that does not answer are errors;
// what is wrong with one item, or with a list that is not the list of tools, is a Problem.
func (s *session) list(ctx context.Context) (*listing, error) {
	l := &lister{s: s, c: Catalog{Server: s.id, Up: true}, h: sha256.New()}
	caps := s.capabilities()
	out := &listing{tools: map[string]known{}}
	if caps.Tools != nil {
		raws, err := l.pages(ctx, "tools/list", "tools", func(c string) mcp.Params { return &mcp.ListToolsParams{Meta: s.meta(), Cursor: c} })
		if err != nil {
			return nil, err
		}
		l.tools(raws, out)
	}
	if caps.Prompts != nil {
		raws, err := l.other(ctx, "prompts/list", promptKeys.list, func(c string) mcp.Params { return &mcp.ListPromptsParams{Meta: s.meta(), Cursor: c} })
		if err != nil {
			return nil, err
		}
		l.c.Prompts = readPrompts(raws, l.problem)
	}
	if caps.Resources != nil {
		l.c.Subscribe = caps.Resources.Subscribe
		raws, err := l.other(ctx, "resources/list", resourceKeys.list, func(c string) mcp.Params { return &mcp.ListResourcesParams{Meta: s.meta(), Cursor: c} })
		if err != nil {
			return nil, err
		}
		l.c.Resources = readResources(raws, l.problem)
		raws, err = l.other(ctx, "resources/templates/list", templateKeys.list, func(c string) mcp.Params {
			return &mcp.ListResourceTemplatesParams{Meta: s.meta(), Cursor: c}
		})
		if err != nil {
			return nil, err
		}
		l.c.Templates = readTemplates(raws, l.problem)
	}
	l.c.Completions = caps.Completions != nil
	fmt.Fprint(l.h, l.c.Subscribe, l.c.Completions)
	for _, p := range l.c.Problems {
		fmt.Fprintf(l.h, "%q %q", p.Item, p.Err.Error())
	}
	out.catalog = l.c
	l.h.Sum(out.sum[:0])
	return out, nil
}

func (l *lister) problem(item string, err error) {
	switch {
	case len(l.c.Problems) < maxProblems:
		l.c.Problems = append(l.c.Problems, Problem{Server: l.s.id, Item: item, Err: l.s.w.redact.error(err)})
	case len(l.c.Problems) == maxProblems:
		l.c.Problems = append(l.c.Problems, Problem{Server: l.s.id, Err: errMore})
	}
}

var errMore = fmt.Errorf("more than %d problems: the others are not kept", maxProblems)

// note makes the sum depend on an item.
func (l *lister) note(raw []byte) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(raw)))
	l.h.Write(size[:])
	l.h.Write(raw)
}

// tools reads the tools of a list.
func (l *lister) tools(raws [][]byte, out *listing) {
	for i, raw := range raws {
		t, problems, ok := readTool(l.s.id, raw)
		item := fmt.Sprintf("tools[%d]", i)
		if ok {
			item = shown(t.Name)
		}
		for _, err := range problems {
			l.problem(item, err)
		}
		if !ok {
			continue
		}
		k := out.tools[t.Name]
		if k.times++; k.times == 2 {
			l.problem(item, ErrTwice)
		}
		k.fingerprint = t.Fingerprint
		out.tools[t.Name] = k
		l.c.Tools = append(l.c.Tools, t)
		if l.s.remote && t.Definition != nil && bytes.Contains(t.Raw, []byte("x-mcp-header")) {
			out.headers = append(out.headers, t.Definition)
		}
	}
}

// other reads a list that is not the list of tools: where the server answers with an error, the list is empty and there
// is a Problem. A server without templates often does not know that list at all.
func (l *lister) other(ctx context.Context, method, key string, params func(string) mcp.Params) ([][]byte, error) {
	raws, err := l.pages(ctx, method, key, params)
	var answer *jsonrpc.Error
	if err == nil || !answered(err) || !errors.As(err, &answer) {
		return raws, err
	}
	if answer.Code != jsonrpc.CodeMethodNotFound || method != "resources/templates/list" {
		l.problem("", fmt.Errorf("%s: %w", method, err))
	}
	return nil, nil
}

// pages returns the items of all pages.
func (l *lister) pages(ctx context.Context, method, key string, params func(cursor string) mcp.Params) ([][]byte, error) {
	var (
		all    [][]byte
		size   int
		cursor string
		seen   = map[string]bool{}
	)
	fmt.Fprintf(l.h, "\n%s\n", method)
	for page := 1; ; page++ {
		raw, err := l.s.page(ctx, method, params(cursor))
		if err != nil {
			return nil, err
		}
		if size += len(raw); size > maxListBytes {
			return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrTooMuch, method, maxListBytes)
		}
		items, next, err := readPage(raw, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		for _, item := range items {
			l.note(item)
		}
		if all = append(all, items...); len(all) > maxItems {
			return nil, fmt.Errorf("%w: %s has more than %d items", ErrTooMuch, method, maxItems)
		}
		switch {
		case next == "":
			return all, nil
		case seen[next] || next == cursor:
			l.problem("", fmt.Errorf("%s: the cursor %s comes again: the list ends there", method, shown(next)))
			return all, nil
		case page == maxPages:
			return nil, fmt.Errorf("%w: %s has more than %d pages", ErrTooMuch, method, maxPages)
		}
		seen[next] = true
		cursor = next
	}
}

// readPage returns the items of a page as they came, and the cursor of the next one. A page without the list has no
// items; a list that is null neither.
func readPage(raw []byte, key string) (items [][]byte, next string, err error) {
	ms, err := members(raw)
	if err != nil {
		return nil, "", fmt.Errorf("the result: %w", err)
	}
	v, times := find(ms, key)
	switch {
	case times == 0:
		return nil, "", fmt.Errorf("the result has no %q", key)
	case times > 1:
		return nil, "", fmt.Errorf("the result has %q more than once", key)
	case !isNull(v):
		if items, err = elements(v); err != nil {
			return nil, "", fmt.Errorf("%q: %w", key, err)
		}
	}
	v, times = find(ms, "nextCursor")
	if times == 0 || isNull(v) {
		return items, "", nil
	}
	next, ok := text(v)
	if !ok || times > 1 {
		return nil, "", errors.New("nextCursor is not one string")
	}
	return items, next, nil
}
