// Lists.
//
// The next handler's list is in pages whose cursor is the last name on the page, hidden or not, and whose size before
// filtering shows through after it. So a list is collected whole, filtered, sorted by name and cut into pages of its own,
// each full but the last. The cursor is the last name the caller was shown, which it knows: nothing to encrypt, nothing
// to keep, and a change between two pages neither repeats nor ends anything. Naive: a cursor with an index, which shows
// by skips and repeats that something before it came or went.

package hub

import (
	"encoding/base64"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// maxPages bounds what a handler that never ends its list can cost: a million entries at the SDK's page size.
const maxPages = 1000

// list is one kind of list.
type list[T any] struct {
	mark string // of its cursors: one kind's are no other's

	// page returns the entries of the next handler from a cursor on, the cursor behind them, and how long they keep.
	page func(cursor string) (items []T, next string, c mcp.Cacheable, err error)

	key     func(T) string // the name it is sorted and found again by
	keep    func(T) bool   // whether the caller sees it
	version func(*maphash.Hash, T)
}

// collect returns everything that the caller sees, in the order of the keys.
func (l *list[T]) collect() ([]T, mcp.Cacheable, error) {
	var kept []T
	var first mcp.Cacheable
	cursor := ""
	for n := 0; ; n++ {
		items, next, c, err := l.page(cursor)
		if err != nil {
			return nil, first, err
		}
		if n == 0 {
			first.TTLMs = c.TTLMs
			kept = make([]T, 0, len(items))
		}
		for _, item := range items {
			if l.keep(item) {
				kept = append(kept, item)
			}
		}
		if next == "" || next == cursor || n == maxPages {
			break
		}
		cursor = next
	}
	byKey := func(a, b T) int { return strings.Compare(l.key(a), l.key(b)) }
	if !slices.IsSortedFunc(kept, byKey) {
		slices.SortStableFunc(kept, byKey)
	}
	first.CacheScope = scopePrivate
	return kept, first, nil
}

// digest stands for a collected list, within this process.
func (l *list[T]) digest(seed maphash.Seed, kept []T) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, item := range kept {
		h.WriteString(l.key(item))
		h.WriteByte(0)
		l.version(&h, item)
		h.WriteByte(0)
	}
	return h.Sum64()
}

// paged collects a list for a caller and cuts out the page behind a cursor.
func paged[T any](r *request, l *list[T], cursor string) ([]T, string, mcp.Cacheable, error) {
	r.e.Result = ResultListed
	after, ok := openCursor(l.mark, cursor)
	if !ok {
		return nil, "", mcp.Cacheable{}, errInvalid
	}
	done := r.g.watch.listing(r, l.mark, cursor == "")
	kept, c, err := l.collect()
	if err != nil {
		done(0, false)
		r.e.Err = err
		return nil, "", c, errInternal
	}
	done(l.digest(r.g.seed, kept), true)
	r.e.Total = len(kept)
	if cursor != "" {
		at, found := slices.BinarySearchFunc(kept, after, func(item T, key string) int { return strings.Compare(l.key(item), key) })
		for found && at < len(kept) && l.key(kept[at]) == after {
			at++
		}
		kept = kept[at:]
	}
	next := ""
	if size := r.g.o.PageSize; len(kept) > size {
		for size < len(kept) && l.key(kept[size]) == l.key(kept[size-1]) {
			size++ // entries of one name stay together: the cursor could not come between them
		}
		if size < len(kept) {
			next = sealCursor(l.mark, l.key(kept[size-1]))
		}
		kept = kept[:size]
	}
	r.e.Listed = len(kept)
	return kept, next, c, nil
}

func sealCursor(mark, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(mark + ":" + key))
}

func openCursor(mark, cursor string) (string, bool) {
	if cursor == "" {
		return "", true
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(string(b), mark+":")
}

// shown is one tool on a list.
type shown struct {
	name string
	def  *mcp.Tool // the server's own, not to be changed
	tool *engine.Tool
}

func (r *request) tools(session *mcp.ServerSession, extra *mcp.RequestExtra) *list[shown] {
	r.e.Kind = engine.Tools
	names := table(r.g.o.Names)
	l := &list[shown]{
		mark: "tools",
		key:  func(s shown) string { return s.name },
		keep: func(s shown) bool { return s.tool != nil },
		version: func(h *maphash.Hash, s shown) {
			if s.tool.Fingerprint != "" {
				h.WriteString(string(s.tool.Fingerprint))
			} else {
				h.Write(s.tool.Raw)
			}
		},
	}
	if r.g.o.Definition != nil {
		l.page = func(string) ([]shown, string, mcp.Cacheable, error) {
			return r.defined(names), "", mcp.Cacheable{}, nil
		}
		return l
	}
	l.page = func(cursor string) ([]shown, string, mcp.Cacheable, error) {
		res, err := backend[*mcp.ListToolsResult](r, &mcp.ListToolsRequest{
			Session: session, Params: &mcp.ListToolsParams{Cursor: cursor}, Extra: extra,
		})
		if err != nil {
			return nil, "", mcp.Cacheable{}, err
		}
		items := make([]shown, 0, len(res.Tools))
		for _, def := range res.Tools {
			if def == nil {
				continue
			}
			if t, ok := names.Target(def.Name); ok {
				if tool, ok := r.tool(t); ok {
					items = append(items, shown{def.Name, def, tool})
				}
			}
		}
		return items, res.NextCursor, res.Cacheable, nil
	}
	return l
}

// defined makes the list of tools from the snapshot.
func (r *request) defined(names *Names) []shown {
	var items []shown
	for tool := range r.view.Tools(r.ctx, &r.er) {
		name, ok := names.Exposed(tool.Target())
		if !ok || r.g.o.OnlyApproved && !r.unchanged(tool) {
			continue
		}
		if def, ok := r.g.define(tool); ok {
			items = append(items, shown{name, def, tool})
		}
	}
	return items
}

func (g *Guard) define(tool *engine.Tool) (def *mcp.Tool, ok bool) {
	defer func() {
		if recover() != nil {
			def, ok = nil, false
		}
	}()
	def, ok = g.o.Definition(tool)
	return def, ok && def != nil
}

// backend asks the next handler for a list; what it does not answer as it should is an error.
func backend[R mcp.Result](r *request, in mcp.Request) (R, error) {
	start := time.Now()
	res, err := r.next(r.ctx, r.e.Method, in)
	r.e.Backend += time.Since(start)
	out, ok := res.(R)
	if err == nil && (!ok || any(out) == any(*new(R))) {
		err = errInternal
	}
	return out, err
}

func (r *request) listTools(in *mcp.ListToolsRequest) (mcp.Result, error) {
	cursor := ""
	if in.Params != nil {
		cursor = in.Params.Cursor
	}
	page, next, c, err := paged(r, r.tools(in.Session, in.Extra), cursor)
	if err != nil {
		return nil, err
	}
	// Copies, in one piece: whoever changes a result later must not change what the server holds.
	defs := make([]mcp.Tool, len(page))
	res := &mcp.ListToolsResult{Cacheable: c, NextCursor: next, Tools: make([]*mcp.Tool, len(page))}
	for i, s := range page {
		defs[i] = *s.def
		defs[i].Name = s.name
		res.Tools[i] = &defs[i]
	}
	return res, nil
}
