//go:build unix

// The fakes, by the word that makes them.

package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var fakes = map[string]func(f *fake){
	"plain": func(f *fake) { f.serve() },
	"big": func(f *fake) {
		var size int
		_, _ = fmt.Sscan(os.Getenv("SIZE"), &size)
		f.tools = func(request) string {
			return `{"tools":[` + plainTool("small") + `,{"name":"big","description":"` + strings.Repeat("x", size) + `","inputSchema":{"type":"object"}}]}`
		}
		f.serve()
	},
	"longline": func(f *fake) { // a line that never ends
		f.tools = func(request) string {
			f.mu.Lock()
			for range 70 {
				_, _ = f.out.Write([]byte(strings.Repeat("x", 1<<20)))
			}
			f.mu.Unlock()
			return `{"tools":[]}`
		}
		f.serve()
	},
	"junk": func(f *fake) {
		f.raw("Starting server...\n\n\x00\xff{]\n{\"level\":30,\"msg\":\"listening\"}\n[]\n\"text\"\n{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}\n{\"jsonrpc\":\"2.0\"}\n")
		f.tools = func(request) string {
			f.raw("listing tools\n{\"jsonrpc\":\"2.0\",\"id\":\"never asked\",\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":[1],\"result\":{}}\r\n")
			f.notify("notifications/elicitation/complete")
			f.notify("notifications/nonsense")
			return `{"tools":[` + plainTool("echo") + `]}`
		}
		f.serve()
	},
	"stderr": func(f *fake) {
		fmt.Fprintln(os.Stderr, "using token", os.Getenv("TOKEN"))
		fmt.Fprintln(os.Stderr, strings.Repeat("y", 1<<20))
		for i := range 10_000 {
			fmt.Fprintln(os.Stderr, "line", i)
		}
		f.serve()
	},
	"list": func(f *fake) { // lists what it is told
		f.tools = func(request) string { return os.Getenv("LIST") }
		f.caps = os.Getenv("CAPS")
		f.other = func(r request) (string, bool) {
			res, ok := os.LookupEnv(strings.ReplaceAll(r.Method, "/", "_"))
			return res, ok
		}
		f.serve()
	},
	"file": func(f *fake) { // lists what a file holds at the time
		f.tools = func(request) string { b, _ := os.ReadFile(os.Getenv("LIST")); return string(b) }
		f.serve()
	},
	"endless": func(f *fake) {
		page, size := 0, 0
		_, _ = fmt.Sscan(os.Getenv("SIZE"), &size)
		f.tools = func(request) string {
			page++
			var names []string
			for i := range 100 {
				names = append(names, plainTool(fmt.Sprintf("t%d_%d%s", page, i, strings.Repeat("x", size))))
			}
			return fmt.Sprintf(`{"tools":[%s],"nextCursor":"p%d"}`, strings.Join(names, ","), page)
		}
		f.serve()
	},
	"circle": func(f *fake) {
		f.tools = func(r request) string {
			next := map[string]string{"": "a", "a": "b", "b": "a"}[r.Params.Cursor]
			return fmt.Sprintf(`{"tools":[%s],"nextCursor":%q}`, plainTool("t"+r.Params.Cursor), next)
		}
		f.serve()
	},
	"storm": func(f *fake) { // says again and again that its list has changed, and counts how often it is asked
		go func() {
			for {
				f.notify("notifications/tools/list_changed")
				time.Sleep(200 * time.Microsecond)
			}
		}()
		n := 0
		f.tools = func(request) string {
			n++
			return fmt.Sprintf(`{"tools":[{"name":"asked","description":"%d","inputSchema":{"type":"object"}}]}`, n)
		}
		f.serve()
	},
	"changing": func(f *fake) { // a tool is another one whenever its list is asked for after the tool "change" was called
		n := 0
		f.tools = func(request) string {
			return fmt.Sprintf(`{"tools":[%s,{"name":"turns","description":"%d","inputSchema":{"type":"object"}}]}`, plainTool("change"), n)
		}
		f.call = func(r request) string {
			if r.Params.Name == "change" {
				n++
				f.notify("notifications/tools/list_changed")
			}
			return `{"content":[]}`
		}
		f.serve()
	},
	"stale": func(f *fake) { // announces another list when "change" is called, and then does not show it
		asked := 0
		f.other = func(r request) (string, bool) {
			if r.Method == "tools/list" {
				if asked++; asked > 1 {
					return "", true
				}
			}
			return "", false
		}
		f.call = func(r request) string { f.notify("notifications/tools/list_changed"); return `{"content":[]}` }
		f.serve()
	},
	"dies": func(f *fake) { // in the middle of a call
		f.call = func(request) string { os.Exit(7); return "" }
		f.serve()
	},
	"deaf": func(f *fake) { // never answers initialize
		f.other = func(request) (string, bool) { return "", true }
		f.serve()
	},
	"blind": func(f *fake) { // never reads
		select {}
	},
	"short": func(f *fake) { // dies at once
		count(os.Getenv("COUNT"))
		fmt.Fprintln(os.Stderr, "cannot open the database, password", os.Getenv("SECRET"))
		os.Exit(9)
	},
	"third": func(f *fake) { // dies at once, but for the third time
		if count(os.Getenv("COUNT")) < 2 {
			os.Exit(9)
		}
		f.serve()
	},
	"old": func(f *fake) { // dies of a method it does not know
		f.other = func(r request) (string, bool) {
			if r.Method == "server/discover" {
				os.Exit(4)
			}
			return "", false
		}
		f.serve()
	},
	"silent": func(f *fake) { // ignores a method it does not know
		f.other = func(r request) (string, bool) { return "", r.Method == "server/discover" }
		f.serve()
	},
	"refusesToList": func(f *fake) { // lists once, then never again
		asked := 0
		f.other = func(r request) (string, bool) {
			if r.Method != "tools/list" {
				return "", false
			}
			if asked++; asked == 1 {
				return "", false
			}
			f.line(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no"}}`, r.ID)
			return "", true
		}
		f.serve()
	},
	"hangs": func(f *fake) { // never answers a call, and notes that one was cancelled
		f.call = func(request) string { return "" }
		go func() {
			r := bufio.NewReader(os.Stdin)
			for {
				line, err := r.ReadBytes('\n')
				if err != nil {
					os.Exit(0)
				}
				var req request
				_ = json.Unmarshal(line, &req)
				if req.Method == "notifications/cancelled" {
					count(os.Getenv("COUNT"))
				}
				if len(req.ID) > 0 {
					f.answer(req)
				}
			}
		}()
		select {}
	},
	"progress": func(f *fake) {
		f.call = func(r request) string {
			token, _ := json.Marshal(r.Params.Meta["progressToken"])
			for i := range 5 {
				f.line(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":5,"message":"step"}}`, token, i)
			}
			f.line(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"another","progress":99}}`)
			f.result(r.ID, `{"content":[{"type":"text","text":`+fmt.Sprintf("%q", token)+`}]}`)
			f.line(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":100}}`, token)
			return ""
		}
		f.serve()
	},
	"clogged": func(f *fake) { // reads no more once its list was asked for
		f.tools = func(r request) string {
			f.result(r.ID, `{"tools":[`+plainTool("echo")+`]}`)
			select {}
		}
		f.serve()
	},
	"sdk": func(*fake) {
		s := sdkServer(true)
		add(s, "ask")
		s.AddTool(&mcp.Tool{Name: "grow", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			add(s, "grown")
			return &mcp.CallToolResult{}, nil
		})
		s.AddTool(&mcp.Tool{Name: "touch", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "a://1"})
		})
		_ = s.Run(context.Background(), &mcp.StdioTransport{})
	},
	"numbers": func(f *fake) {
		f.call = func(r request) string {
			return `{"content":[],"structuredContent": {"id": 9007199254740993, "e": 1E400, "b":1,"a":2, "args":` + string(r.Params.Arguments) + `},"isError":false}`
		}
		f.serve()
	},
	"answers": func(f *fake) { // answers a call with what its environment holds
		f.call = func(request) string { return os.Getenv("ANSWER") }
		f.serve()
	},
	"environment": func(f *fake) {
		f.call = func(request) string {
			b, _ := json.Marshal(os.Environ())
			return `{"content":[],"structuredContent":` + string(b) + `}`
		}
		f.serve()
	},
	"stubborn": func(f *fake) { // starts a child, and neither ends when it is asked to
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command(os.Args[0])
		child.Env = []string{fakeKey + "=sleeper"}
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		_ = child.Start()
		_ = os.WriteFile(os.Getenv("PIDS"), []byte(fmt.Sprintf("%d %d", os.Getpid(), child.Process.Pid)), 0o600)
		f.serve()
		select {}
	},
	"sleeper": func(*fake) {
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	},
	"resources": func(f *fake) {
		f.caps = `{"resources":{"subscribe":true,"listChanged":true},"prompts":{},"completions":{}}`
		f.other = func(r request) (string, bool) {
			switch r.Method {
			case "resources/list":
				return `{"resources":[{"uri":"a://1","name":"one"},{"uri":"a://1","name":"again"},{"name":"nameless"},{"uri":"a://2","name":3},{"URI":"a://3","uri":"a://4","name":"four"}]}`, true
			case "prompts/list":
				return `{"prompts":[{"name":"p","arguments":[{"name":"x","required":true}]},{"name":"q","arguments":"none"}]}`, true
			case "resources/subscribe":
				f.line(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q}}`, r.Params.URI)
				return `{}`, true
			case "resources/unsubscribe":
				return `{}`, true
			case "resources/read":
				if r.Params.URI == "a://die" {
					os.Exit(1)
				}
				return `{"contents":[{"uri":"a://1","text":"hello"}],"ttlMs":100000}`, true
			case "prompts/get":
				return `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`, true
			case "completion/complete":
				return `{"completion":{"values":["v"]}}`, true
			}
			return "", false
		}
		f.serve()
	},
}
