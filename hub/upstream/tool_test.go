package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// each case is a tool as a server may list it, what is shown of it ("" for nothing), and what is said to be wrong.
var toolCases = []struct{ raw, shown, problem string }{
	{`{"name":"a","inputSchema":{"type":"object"}}`, `{"inputSchema":{"type":"object"},"name":"a"}`, ""},
	{`{"name":"a"}`, `{"inputSchema":{"type":"object"},"name":"a"}`, "inputSchema is missing"},
	{`{"name":"a","inputSchema":null}`, `{"inputSchema":{"type":"object"},"name":"a"}`, "inputSchema is missing"},
	{`{"name":"a","inputSchema":{}}`, `{"inputSchema":{"type":"object"},"name":"a"}`, "inputSchema has no type"},
	{`{"name":"a","inputSchema":{"properties":{"x":{}},"type":null}}`, `{"inputSchema":{"type":"object","properties":{"x":{}}},"name":"a"}`, "inputSchema has no type"},
	{`{"name":"a","inputSchema":{"type":"array"}}`, "", `of a type other than "object"`},
	{`{"name":"a","inputSchema":{"type":["object","null"]}}`, "", `of a type other than "object"`},
	{`{"name":"a","inputSchema":"object"}`, "", "not a JSON object"},
	{`{"name":"a","inputSchema":true}`, "", "not a JSON object"},
	{`{"name":"a","inputSchema":[]}`, "", "not a JSON object"},
	{`{"name":"a","inputSchema":{"type":"object","properties":null,"required":null}}`, `{"inputSchema":{"type":"object"},"name":"a"}`, "required is not a list"},
	{`{"name":"a","inputSchema":{"type":"object","properties":{"x":true,"y":false}}}`, `{"inputSchema":{"type":"object","properties":{"x":{},"y":{"not":{}}}},"name":"a"}`, ""},
	{`{"name":"a","inputSchema":{"type":"object","properties":{"x":3}}}`, "", "properties.x is not a schema"},
	{`{"name":"a","inputSchema":{"type":"object","properties":[]}}`, "", "properties is not an object"},
	{`{"name":"a","inputSchema":{"type":"object","required":true}}`, `{"inputSchema":{"type":"object"},"name":"a"}`, "required is not a list of strings"},
	{`{"name":"a","inputSchema":{"type":"object","required":[1]}}`, `{"inputSchema":{"type":"object"},"name":"a"}`, "required is not a list of strings"},
	{`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`,
		`{"inputSchema":{"type":"object"},"name":"a","outputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`, ""},
	{`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"n":{"type":"number"}},"required":["n"],"additionalProperties":false}}`,
		`{"inputSchema":{"type":"object"},"name":"a","outputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"n":{"type":"number"}},"required":["n"],"additionalProperties":false}}`, ""},
	{`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`, `{"inputSchema":{"type":"object"},"name":"a"}`, "outputSchema is not of type"},
	{`{"name":"a","inputSchema":{"type":"object"},"outputSchema":7}`, `{"inputSchema":{"type":"object"},"name":"a"}`, "outputSchema is not a JSON object"},
	{`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"x":{"$ref":"#/nowhere"}}}}`, `{"inputSchema":{"type":"object"},"name":"a"}`, "outputSchema does not compile"},
	{`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"x":{"pattern":"("}}}}`, `{"inputSchema":{"type":"object"},"name":"a"}`, "outputSchema does not compile"},
	{`{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes","destructiveHint":1,"title":5,"openWorldHint":false}}`,
		`{"annotations":{"idempotentHint":false,"openWorldHint":false,"readOnlyHint":false},"inputSchema":{"type":"object"},"name":"a"}`, "annotations.readOnlyHint is not a boolean"},
	{`{"name":"a","inputSchema":{"type":"object"},"annotations":[]}`, `{"inputSchema":{"type":"object"},"name":"a"}`, "annotations are not an object"},
	{`{"name":"a","inputSchema":{"type":"object"},"description":{"x":1},"title":[],"icons":"none","_meta":3,"unknown":{"x":1}}`, `{"inputSchema":{"type":"object"},"name":"a"}`, "description is not a string"},
	{`{"name":"a","Description":"x","inputSchema":{"type":"object"},"_meta":{"n":9007199254740993}}`, `{"_meta":{"n":9007199254740993},"inputSchema":{"type":"object"},"name":"a"}`, "no fingerprint"},
	{`{"name":"a","inputSchema":{"type":"object"},"inputSchema":{"type":"object"}}`, "", "no fingerprint"},
	{`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"string","type":"number"}}}}`, "", "no fingerprint"},
	{`{"name":"a","inputSchema":{"type":"object"},"description":"\ud800"}`, "", "no fingerprint"},
	{"{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"description\":\"\xff\"}", "", "no fingerprint"},
	{`{"name":"a","inputSchema":{"type":"object","x":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}}`, "", "nested"},
	{`{"name":"a/b c\u0000","inputSchema":{"type":"object"}}`, `{"inputSchema":{"type":"object"},"name":"a/b c\u0000"}`, ""},
}

func TestWhatIsShownOfATool(t *testing.T) {
	for _, c := range toolCases {
		tool, problems, ok := readTool("s", []byte(c.raw))
		if !ok {
			t.Errorf("%.80s: it has no name: %v", c.raw, problems)
			continue
		}
		if string(tool.Raw) != c.raw || tool.Server != "s" {
			t.Errorf("%.80s: raw is %s", c.raw, tool.Raw)
		}
		want, _ := engine.ComputeFingerprint([]byte(c.raw))
		if tool.Fingerprint != want {
			t.Errorf("%.80s: fingerprint %q", c.raw, tool.Fingerprint)
		}
		if got := fmt.Sprint(problems); !strings.Contains(got, c.problem) || (c.problem == "") != (len(problems) == 0) {
			t.Errorf("%.80s: %s", c.raw, got)
		}
		if (tool.Definition == nil) != (c.shown == "") {
			t.Errorf("%.80s: shown %v: %v", c.raw, tool.Definition, problems)
		}
		if tool.Definition == nil {
			continue
		}
		got, err := json.Marshal(tool.Definition)
		if err != nil || string(got) != c.shown {
			t.Errorf("%.80s:\n%s %v, want\n%s", c.raw, got, err, c.shown)
		}
		// What is shown is what a server of the SDK takes, and a client reads.
		mcp.NewServer(&mcp.Implementation{}, nil).AddTool(tool.Definition, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
		var back mcp.Tool
		if err := json.Unmarshal(got, &back); err != nil {
			t.Errorf("%.80s: %v", c.raw, err)
		}
	}
}

func TestHintsAreWhatTheServerSays(t *testing.T) {
	tool, _, _ := readTool("s", []byte(`{"name":"a","annotations":{"readOnlyHint":"yes","destructiveHint":false,"idempotentHint":true}}`))
	if want := (engine.Hints{Destructive: engine.False, Idempotent: engine.True}); tool.Hints != want {
		t.Errorf("%+v", tool.Hints)
	}
	tool, problems, _ := readTool("s", []byte(`{"name":"a","annotations":{"readOnlyHint":true,"readOnlyHint":false}}`))
	if tool.Hints != (engine.Hints{}) || len(problems) == 0 {
		t.Errorf("%+v %v", tool.Hints, problems)
	}
	tool, _, _ = readTool("s", []byte(`{"name":"a","annotations":{"readOnlyHint":true},"annotations":{"readOnlyHint":false}}`))
	if tool.Hints != (engine.Hints{}) || tool.Fingerprint != "" {
		t.Errorf("%+v", tool)
	}
}

func TestToolsWithoutAName(t *testing.T) {
	for _, raw := range []string{`{}`, `null`, `[]`, `3`, `{"name":null}`, `{"name":3}`, `{"name":""}`, `{"Name":"a"}`, `{"name":"a","name":"a"}`, `{"name":"\ud800"}`, "{\"name\":\"\xff\"}"} {
		if tool, problems, ok := readTool("s", []byte(raw)); ok || len(problems) == 0 {
			t.Errorf("%s: %+v %v", raw, tool, problems)
		}
	}
}

func TestPages(t *testing.T) {
	for _, c := range []struct {
		raw   string
		items int
		next  string
		fails bool
	}{
		{`{"tools":[]}`, 0, "", false},
		{`{"tools":null}`, 0, "", false},
		{` {"nextCursor" : "x" , "tools" : [ 1 , {"a":[2]} , null ] } `, 3, "x", false},
		{`{"tools":[],"nextCursor":null}`, 0, "", false},
		{`{}`, 0, "", true},
		{`{"tools":{}}`, 0, "", true},
		{`{"tools":[],"tools":[1]}`, 0, "", true},
		{`{"tools":[],"nextCursor":3}`, 0, "", true},
		{`{"tools":[],"nextCursor":"a","nextCursor":"b"}`, 0, "", true},
		{`{"tools":[}`, 0, "", true},
		{`{"tools":[]} x`, 0, "", true},
		{``, 0, "", true},
		{`null`, 0, "", true},
	} {
		items, next, err := readPage([]byte(c.raw), "tools")
		if len(items) != c.items || next != c.next || (err != nil) != c.fails {
			t.Errorf("%s: %d items, %q, %v", c.raw, len(items), next, err)
		}
	}
	items, _, _ := readPage([]byte(`{"tools":[ {"a" : 1, "a":2} ,"x"]}`), "tools")
	if string(items[0]) != `{"a" : 1, "a":2}` || string(items[1]) != `"x"` {
		t.Errorf("%q", items)
	}
}

// Whatever a server lists, reading it does not panic, what is kept is what came, and what is shown can be shown.
func FuzzList(f *testing.F) {
	for _, c := range toolCases {
		f.Add([]byte(`{"tools":[` + c.raw + `,` + c.raw + `],"nextCursor":"x"}`))
	}
	f.Add([]byte(`{"tools":[1,null,{}],"prompts":[{"name":"p"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		items, _, err := readPage(data, "tools")
		if err != nil {
			return
		}
		for _, raw := range items {
			tool, problems, ok := readTool("s", raw)
			if !ok {
				if len(problems) == 0 {
					t.Fatalf("%q: left out in silence", raw)
				}
				continue
			}
			if string(tool.Raw) != string(raw) || !strings.Contains(string(data), string(raw)) {
				t.Fatalf("%q: kept as %q", raw, tool.Raw)
			}
			if want, _ := engine.ComputeFingerprint(raw); want != tool.Fingerprint {
				t.Fatalf("%q: %q", raw, tool.Fingerprint)
			}
			if tool.Definition == nil {
				if len(problems) == 0 {
					t.Fatalf("%q: not shown in silence", raw)
				}
				continue
			}
			out, err := json.Marshal(tool.Definition)
			if err != nil {
				t.Fatalf("%q: %v", raw, err)
			}
			type schema struct {
				Type       string                    `json:"type"`
				Properties map[string]map[string]any `json:"properties"`
				Required   []string                  `json:"required"`
			}
			var strictClient struct { // reads keys as they are spelled, as clients do and encoding/json does not
				Name         string  `json:"name"`
				InputSchema  schema  `json:"inputSchema"`
				OutputSchema *schema `json:"outputSchema"`
			}
			if err := jsonv2.Unmarshal(out, &strictClient); err != nil || strictClient.Name != tool.Name || strictClient.InputSchema.Type != "object" ||
				strictClient.OutputSchema != nil && strictClient.OutputSchema.Type != "object" {
				t.Fatalf("%q is shown as %s: %v", raw, out, err)
			}
		}
		readPrompts(items, func(string, error) {})
		readResources(items, func(string, error) {})
		readTemplates(items, func(string, error) {})
	})
}
