// Resources and prompts: lists, templates, subscriptions and completion.
//
// They have no filter. A list shows what is not denied; what is denied is not there, and whatever refers to it, a
// template, a subscription, a completion, follows.

package hub

import (
	"encoding/json"
	"hash/maphash"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// seesResource reports whether the caller may know of what a URI, or a template, refers to.
func (r *request) seesResource(f Resolve, uri string) bool {
	t, ok := resolve(f, uri)
	return ok && r.judgeResource(t).found
}

func (r *request) seesPrompt(names *Names, name string) bool {
	t, ok := names.Target(name)
	return ok && r.judgePrompt(t).found
}

// encoded is the version of a list's entry that nobody takes fingerprints of.
func encoded[T any](h *maphash.Hash, v T) {
	b, _ := json.Marshal(v) // what cannot be written cannot be listed either
	h.Write(b)
}

func (r *request) resources(session *mcp.ServerSession, extra *mcp.RequestExtra) *list[*mcp.Resource] {
	r.e.Kind = engine.Resources
	return &list[*mcp.Resource]{
		mark:    "resources",
		key:     func(v *mcp.Resource) string { return v.URI },
		keep:    func(v *mcp.Resource) bool { return v != nil && r.seesResource(r.g.o.Resources, v.URI) },
		version: encoded[*mcp.Resource],
		page: func(cursor string) ([]*mcp.Resource, string, mcp.Cacheable, error) {
			res, err := backend[*mcp.ListResourcesResult](r, &mcp.ListResourcesRequest{
				Session: session, Params: &mcp.ListResourcesParams{Cursor: cursor}, Extra: extra,
			})
			if err != nil {
				return nil, "", mcp.Cacheable{}, err
			}
			return res.Resources, res.NextCursor, res.Cacheable, nil
		},
	}
}

func (r *request) listResources(in *mcp.ListResourcesRequest) (mcp.Result, error) {
	cursor := ""
	if in.Params != nil {
		cursor = in.Params.Cursor
	}
	page, next, c, err := paged(r, r.resources(in.Session, in.Extra), cursor)
	if err != nil {
		return nil, err
	}
	return &mcp.ListResourcesResult{Cacheable: c, NextCursor: next, Resources: copies(page)}, nil
}

// templates is resources for templates, which are judged by their text, as the policy has a URI.
func (r *request) templates(session *mcp.ServerSession, extra *mcp.RequestExtra) *list[*mcp.ResourceTemplate] {
	r.e.Kind = engine.Resources
	return &list[*mcp.ResourceTemplate]{
		mark:    "templates",
		key:     func(v *mcp.ResourceTemplate) string { return v.URITemplate },
		keep:    func(v *mcp.ResourceTemplate) bool { return v != nil && r.seesResource(r.g.o.Templates, v.URITemplate) },
		version: encoded[*mcp.ResourceTemplate],
		page: func(cursor string) ([]*mcp.ResourceTemplate, string, mcp.Cacheable, error) {
			res, err := backend[*mcp.ListResourceTemplatesResult](r, &mcp.ListResourceTemplatesRequest{
				Session: session, Params: &mcp.ListResourceTemplatesParams{Cursor: cursor}, Extra: extra,
			})
			if err != nil {
				return nil, "", mcp.Cacheable{}, err
			}
			return res.ResourceTemplates, res.NextCursor, res.Cacheable, nil
		},
	}
}

func (r *request) listTemplates(in *mcp.ListResourceTemplatesRequest) (mcp.Result, error) {
	cursor := ""
	if in.Params != nil {
		cursor = in.Params.Cursor
	}
	page, next, c, err := paged(r, r.templates(in.Session, in.Extra), cursor)
	if err != nil {
		return nil, err
	}
	return &mcp.ListResourceTemplatesResult{Cacheable: c, NextCursor: next, ResourceTemplates: copies(page)}, nil
}

func (r *request) prompts(session *mcp.ServerSession, extra *mcp.RequestExtra) *list[*mcp.Prompt] {
	r.e.Kind = engine.Prompts
	names := table(r.g.o.Prompts)
	return &list[*mcp.Prompt]{
		mark:    "prompts",
		key:     func(v *mcp.Prompt) string { return v.Name },
		keep:    func(v *mcp.Prompt) bool { return v != nil && r.seesPrompt(names, v.Name) },
		version: encoded[*mcp.Prompt],
		page: func(cursor string) ([]*mcp.Prompt, string, mcp.Cacheable, error) {
			res, err := backend[*mcp.ListPromptsResult](r, &mcp.ListPromptsRequest{
				Session: session, Params: &mcp.ListPromptsParams{Cursor: cursor}, Extra: extra,
			})
			if err != nil {
				return nil, "", mcp.Cacheable{}, err
			}
			return res.Prompts, res.NextCursor, res.Cacheable, nil
		},
	}
}

func (r *request) listPrompts(in *mcp.ListPromptsRequest) (mcp.Result, error) {
	cursor := ""
	if in.Params != nil {
		cursor = in.Params.Cursor
	}
	page, next, c, err := paged(r, r.prompts(in.Session, in.Extra), cursor)
	if err != nil {
		return nil, err
	}
	return &mcp.ListPromptsResult{Cacheable: c, NextCursor: next, Prompts: copies(page)}, nil
}

// copies returns pointers to copies, all in one piece.
func copies[T any](page []*T) []*T {
	values := make([]T, len(page))
	out := make([]*T, len(page))
	for i, v := range page {
		values[i] = *v
		out[i] = &values[i]
	}
	return out
}

// reaches finds and judges the resource that a request is about, short of reading it.
func (r *request) reaches(uri string) bool {
	t, ok := r.resource(uri)
	if !ok {
		return false
	}
	j := r.judgeResource(t)
	r.note(j)
	r.e.Result = ResultRan
	if !j.found {
		r.e.Result = ResultHidden
	}
	return j.found
}

func (r *request) subscribe(in *mcp.SubscribeRequest) (mcp.Result, error) {
	if in.Params == nil {
		return nil, errInvalid
	}
	if !r.reaches(in.Params.URI) {
		return nil, unknownResource(in.Params.URI)
	}
	over := r.g.watch.subscribing(r)
	res, err := r.forward(in, r.judged(judgement{}, nil))
	if err != nil {
		over()
	}
	return res, err
}

// unsubscribe passes what the caller may know of. What it may not know of any more sends no updates either.
func (r *request) unsubscribe(in *mcp.UnsubscribeRequest) (mcp.Result, error) {
	if in.Params == nil {
		return nil, errInvalid
	}
	if !r.reaches(in.Params.URI) {
		return nil, unknownResource(in.Params.URI)
	}
	return r.forward(in, r.judged(judgement{}, nil))
}

// listen passes what the caller may know of, and leaves out the rest as the SDK leaves out what a server does not offer.
func (r *request) listen(in *mcp.SubscriptionsListenRequest) (mcp.Result, error) {
	if !Modern(in.Session) {
		// Before there was such a method nothing ends it with the caller: each one would stay as long as its session.
		r.e.Result = ResultMethod
		return nil, unknownMethod(r.e.Method)
	}
	r.e.Kind = engine.Resources
	if in.Params == nil || in.Params.Notifications == nil {
		r.e.Result = ResultRan
		return r.forward(in, nil) // refused there, as malformed
	}
	p, want := *in.Params, *in.Params.Notifications
	want.ResourceSubscriptions = nil
	for _, uri := range in.Params.Notifications.ResourceSubscriptions {
		if r.seesResource(r.g.o.Resources, uri) {
			want.ResourceSubscriptions = append(want.ResourceSubscriptions, uri)
		}
	}
	p.Notifications = &want
	r.e.Result = ResultRan
	defer r.g.watch.subscribing(r)()
	r.baseLists(in.Session, &want)
	r.e.Kind = engine.Resources
	return r.forward(&mcp.SubscriptionsListenRequest{Session: in.Session, Params: &p, Extra: in.Extra}, nil)
}

// complete passes a reference to what the caller may know of: the answers to one that is hidden and to one that is not
// there are the same.
func (r *request) complete(in *mcp.CompleteRequest) (mcp.Result, error) {
	if in.Params == nil || in.Params.Ref == nil {
		return nil, errInvalid
	}
	ref := in.Params.Ref
	switch ref.Type {
	case "ref/prompt":
		r.e.Kind, r.e.Exposed = engine.Prompts, ref.Name
		names := table(r.g.o.Prompts)
		if !r.seesPrompt(names, ref.Name) {
			r.e.Result = ResultHidden
			return nil, unknownPrompt(ref.Name)
		}
		r.e.Target, _ = names.Target(ref.Name)
	case "ref/resource":
		r.e.Kind, r.e.Exposed = engine.Resources, ref.URI
		where := r.g.o.Templates
		if !r.seesResource(where, ref.URI) {
			where = r.g.o.Resources
			if !r.seesResource(where, ref.URI) {
				r.e.Result = ResultHidden
				return nil, unknownResource(ref.URI)
			}
		}
		r.e.Target, _ = resolve(where, ref.URI)
	default:
		return nil, errInvalid
	}
	r.e.Result = ResultRan
	return r.forward(in, r.judged(judgement{}, nil))
}
