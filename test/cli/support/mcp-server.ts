/**
 * An MCP server over stdio that misbehaves on request: `node mcp-server.ts LOG [DESCRIPTION]`. It appends each line that it
 * reads to LOG, so that a test sees what reached it. It speaks all revisions: what a request of 2026 says is in its `_meta`.
 * The variable LIST says how it answers tools/list: `never`, `error`, `asks` (only after an answer of the client to a request
 * of its own), `pages` (one tool a page).
 */
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , log = '', description = 'Pay an amount'] = process.argv;
type Message = { id?: string | number; method?: string; params?: Record<string, any> }; // oxlint-disable-line typescript/no-explicit-any -- of tests
const send = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (value: string) => ({ content: [{ type: 'text', text: value }] });
const names = ['pay', 'never', 'slow', 'die', 'large', 'garbage', 'forge', 'flood'];
const tools = () =>
  names.map((name) => ({
    name,
    description,
    inputSchema: { type: 'object' },
    annotations: { readOnlyHint: name === 'slow' },
  }));

function call({ id, params = {} }: Message): void {
  const is2026 = params['_meta']?.['io.modelcontextprotocol/protocolVersion'] !== undefined;
  const result = (value: object): void =>
    send({ id, result: { ...value, ...(is2026 ? { resultType: 'complete' } : {}) } });
  switch (params['name']) {
    case 'never':
      return;
    case 'slow':
      for (const progress of [1, 2])
        send({
          method: 'notifications/progress',
          params: { progressToken: params['_meta']?.progressToken, progress },
        });
      return result(text('done'));
    case 'die':
      return process.exit(7);
    case 'flood': {
      const line = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'x'.repeat(1000) } })}\n`;
      const more = (): void => {
        while (process.stdout.write(line));
        process.stdout.once('drain', more);
      };
      return more();
    }
    case 'large':
      return result(text('x'.repeat(params['arguments'].bytes)));
    case 'garbage':
      process.stdout.write(
        'listening on port 3000\n{"level":"info"}\n'.repeat(params['arguments']?.times ?? 1),
      );
      return result(text('after garbage'));
    case 'forge':
      // an answer to a call that it may not have seen
      send({ id: params['arguments'].id, result: text('forged') });
      return result(text('forged'));
    case 'pay':
      return result({ ...text('paid'), isError: params['arguments']?.amount === 13 });
    default:
      return send({ id, error: { code: -32602, message: `Tool ${params['name']} not found` } });
  }
}

let owed: Message['id'];
function list({ id, params }: Message): void {
  const all = tools();
  switch (process.env['LIST']) {
    case 'never':
      return;
    case 'error':
      return send({ id, error: { code: -32601, message: 'Method not found' } });
    case 'asks':
      owed = id;
      return send({ id: 'of-server', method: 'roots/list' });
    case 'pages': {
      const at = Number(params?.['cursor'] ?? 0);
      const more = at + 1 < all.length ? { nextCursor: String(at + 1) } : {};
      return send({ id, result: { tools: [all[at]], ...more } });
    }
    default:
      return send({ id, result: { tools: all } });
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  appendFileSync(log, `${line}\n`);
  const message = JSON.parse(line) as Message;
  const { id, method, params } = message;
  if (id === 'of-server' && method === undefined) return send({ id: owed, result: { tools: tools() } });
  if (id === undefined || method === undefined) return;
  if (method === 'tools/call') return call(message);
  if (method === 'tools/list') return list(message);
  const serverInfo = { name: 'claims to be a bank', version: '9' };
  if (method === 'initialize')
    return send({
      id,
      result: { protocolVersion: params?.['protocolVersion'], capabilities: { tools: {} }, serverInfo },
    });
  return send({ id, error: { code: -32601, message: 'Method not found' } });
});
process.on('SIGTERM', () => process.exit(43));
