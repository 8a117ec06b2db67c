// A client of the TypeScript SDK that a test drives: it reads commands, one JSON object a line, and answers each with one
// line. What the server sends on its own is kept until it is asked for.
//
//   {"id": 1, "op": "connect", "command": "penstock", "args": ["hub", "-c", "hub.yaml"], "elicitation": true}
//   {"id": 2, "op": "connect", "url": "http://127.0.0.1:8410/mcp", "token": "..."}
//   {"id": 3, "op": "tools/list", "params": {}}             any method of the protocol, and its result as it came
//   {"id": 4, "op": "answer", "action": "accept", "content": {"decision": "allow_once"}}    of the elicitations to come
//   {"id": 5, "op": "seen"}                                  notifications and elicitations since the last time
//   {"id": 6, "op": "close"}
//
// Answers: {"id": 3, "result": ...} or {"id": 3, "error": {"code": -32602, "message": "..."}}

import readline from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CompleteResultSchema,
  ElicitRequestSchema,
  EmptyResultSchema,
  GetPromptResultSchema,
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListToolsResultSchema,
  ReadResourceResultSchema,
} from "@modelcontextprotocol/sdk/types.js";

// The SDK checks each result against its own schema: one it refuses is an error here.
const schemas = {
  "ping": EmptyResultSchema,
  "tools/list": ListToolsResultSchema,
  "tools/call": CallToolResultSchema,
  "resources/list": ListResourcesResultSchema,
  "resources/templates/list": ListResourceTemplatesResultSchema,
  "resources/read": ReadResourceResultSchema,
  "resources/subscribe": EmptyResultSchema,
  "resources/unsubscribe": EmptyResultSchema,
  "prompts/list": ListPromptsResultSchema,
  "prompts/get": GetPromptResultSchema,
  "completion/complete": CompleteResultSchema,
};

let client;
let answer = { action: "cancel" };
let seen = [];

async function connect(command) {
  const capabilities = command.elicitation ? { elicitation: {} } : {};
  client = new Client({ name: "e2e", version: "1" }, { capabilities });
  client.fallbackNotificationHandler = async (n) => { seen.push({ notification: n.method, params: n.params }); };
  if (command.elicitation) {
    client.setRequestHandler(ElicitRequestSchema, async (request) => {
      seen.push({ elicitation: request.params });
      return answer;
    });
  }
  // What a server says on its own comes by the answer to a GET, which the SDK does not wait for: it would be lost until then.
  let listening;
  const streams = new Promise((resolve) => { listening = resolve; });
  const transport = command.url
    ? new StreamableHTTPClientTransport(new URL(command.url), {
        fetch: async (url, init) => {
          const response = await fetch(url, init);
          if (init?.method === "GET") listening();
          return response;
        },
        requestInit: command.token ? { headers: { Authorization: `Bearer ${command.token}` } } : {},
      })
    : new StdioClientTransport({ command: command.command, args: command.args, env: command.env, stderr: "inherit" });
  await client.connect(transport);
  if (command.url) await streams;
  return { server: client.getServerVersion(), capabilities: client.getServerCapabilities() };
}

async function run(command) {
  switch (command.op) {
    case "connect":
      return connect(command);
    case "answer":
      answer = { action: command.action, content: command.content };
      return {};
    case "seen": {
      const now = seen;
      seen = [];
      return now;
    }
    case "close":
      await client.close();
      return {};
    default:
      if (!schemas[command.op]) throw new Error(`unknown op ${command.op}`);
      return client.request({ method: command.op, params: command.params ?? {} }, schemas[command.op], { timeout: 120_000 });
  }
}

function print(line) {
  process.stdout.write(JSON.stringify(line) + "\n");
}

// Commands run side by side, so that a call can be under way while another is made.
for await (const line of readline.createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  run(command).then(
    (result) => print({ id: command.id, result }),
    (err) => print({ id: command.id, error: { code: err.code ?? 0, message: String(err.message ?? err), data: err.data } }),
  );
}
if (client) await client.close().catch(() => {});
process.exit(0);
