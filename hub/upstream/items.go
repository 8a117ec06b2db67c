// Prompts, resources and templates of a list, each read on its own like a tool.

package upstream

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// itemKeys are the keys of an item that is named by its key name. Only these are read, spelled exactly like this, since
// encoding/json takes Name for name, too.
type itemKeys struct {
	list string // the key of the list in a result
	name string
	keys []string
}

var (
	promptKeys   = itemKeys{"prompts", "name", []string{"name", "title", "description", "arguments", "icons", "_meta"}}
	resourceKeys = itemKeys{"resources", "uri",
		[]string{"uri", "name", "title", "description", "mimeType", "size", "annotations", "icons", "_meta"}}
	templateKeys = itemKeys{"resourceTemplates", "uriTemplate",
		[]string{"uriTemplate", "name", "title", "description", "mimeType", "annotations", "icons", "_meta"}}
)

// readItems reads the items of a list. One that cannot be read, or whose name was there already, is left out and a
// problem.
func readItems[T any](raws [][]byte, k itemKeys, report func(item string, err error)) []*T {
	seen := make(map[string]bool, len(raws))
	var out []*T
	for i, raw := range raws {
		item, name, err := readItem[T](raw, k)
		switch {
		case err != nil:
			if name == "" {
				name = fmt.Sprintf("%s[%d]", k.list, i)
			} else {
				name = shown(name)
			}
			report(name, fmt.Errorf("it is left out: %w", err))
		case seen[name]:
			report(shown(name), fmt.Errorf("it is listed more than once: the first one counts"))
		default:
			seen[name] = true
			out = append(out, item)
		}
	}
	return out
}

func readItem[T any](raw []byte, k itemKeys) (*T, string, error) {
	ms, err := members(raw)
	if err != nil {
		return nil, "", err
	}
	name, err := readName(ms, k.name)
	if err != nil {
		return nil, "", err
	}
	if err := checkStrict(raw); err != nil {
		return nil, name, err
	}
	var known []member
	for _, key := range k.keys {
		if v, times := find(ms, key); times == 1 && !isNull(v) {
			known = append(known, member{key, v})
		}
	}
	item := new(T)
	if err := guarded(func() error { return json.Unmarshal(object(known), item) }); err != nil {
		return nil, name, fmt.Errorf("it cannot be read: %s", shown(err.Error()))
	}
	return item, name, nil
}

func readPrompts(raws [][]byte, report func(string, error)) []*mcp.Prompt {
	return readItems[mcp.Prompt](raws, promptKeys, report)
}

func readResources(raws [][]byte, report func(string, error)) []*mcp.Resource {
	return readItems[mcp.Resource](raws, resourceKeys, report)
}

func readTemplates(raws [][]byte, report func(string, error)) []*mcp.ResourceTemplate {
	return readItems[mcp.ResourceTemplate](raws, templateKeys, report)
}
