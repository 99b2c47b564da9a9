/**
 * A stand-in for the model: it speaks the streaming interfaces of Anthropic (`/v1/messages`) and OpenAI (`/v1/responses`)
 * on loopback, asks once for one shell command, and ends the turn after its result. No request leaves the machine.
 * Tested by `test/cli/agents/drill.test.ts`, and by hand with Claude Code 2.1.331 and Codex 0.169.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { limits } from '../../../contract/limits.ts';

export interface Asked {
  readonly callId: string;
  readonly command: string;
}

export interface StandIn {
  readonly origin: string;
  /** Whether the client asked what to do, and whether it then reported a result of the call. */
  readonly seen: { asked: boolean; answered: boolean };
  close(): void;
}

export async function standIn(asked: Asked): Promise<StandIn> {
  const seen = { asked: false, answered: false };
  const server = createServer((request, response) => {
    void read(request).then(
      (body) => answer(body, { request, response, asked, seen }),
      () => response.destroy(), // the client has gone
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { origin: `http://127.0.0.1:${port}`, seen, close };
}

async function read(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request as AsyncIterable<Buffer>) {
    text += chunk.toString();
    if (text.length > limits.hookInputBytes) throw new RangeError('expected a request of a model, got more');
  }
  return text;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly asked: Asked;
  readonly seen: StandIn['seen'];
}

function answer(body: string, { request, response, asked, seen }: Exchange): void {
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const isResult = body.includes(asked.callId);
  const hasTools = /"tools":\s*\[\s*\{/.test(body);
  const events = path.endsWith('/v1/messages')
    ? messages(asked, { isResult: isResult || !hasTools })
    : path.endsWith('/responses')
      ? responses(asked, { isResult, body })
      : null;
  if (events === null) {
    response.writeHead(path.endsWith('/count_tokens') ? 200 : 404, { 'content-type': 'application/json' });
    response.end('{"input_tokens":10}');
    return;
  }
  if (hasTools) seen.asked = true;
  if (isResult) seen.answered = true;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
}

interface StreamEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** A message of the assistant with the call, or its last words. */
function messages({ callId, command }: Asked, { isResult }: { isResult: boolean }): StreamEvent[] {
  const block = isResult
    ? { type: 'text', text: '' }
    : { type: 'tool_use', id: callId, name: 'Bash', input: {} };
  const delta = isResult
    ? { type: 'text_delta', text: 'Done.' }
    : { type: 'input_json_delta', partial_json: JSON.stringify({ command, description: 'a drill of gov' }) };
  const usage = { input_tokens: 10, output_tokens: 1 };
  const message = { id: 'msg_gov', type: 'message', role: 'assistant', model: 'gov-drill', content: [] };
  return [
    { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null, usage } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: isResult ? 'end_turn' : 'tool_use', stop_sequence: null },
      usage: { output_tokens: 5 },
    },
    { type: 'message_stop' },
  ];
}

/** The tools of Codex that run a command, with their arguments. */
const shells: Readonly<Record<string, (command: string) => object>> = {
  exec_command: (cmd) => ({ cmd }),
  shell_command: (command) => ({ command }),
  shell: (command) => ({ command: ['bash', '-lc', command] }),
};

function responses(
  { callId, command }: Asked,
  { isResult, body }: { isResult: boolean; body: string },
): StreamEvent[] {
  const name = Object.keys(shells).find((each) => body.includes(`"name":"${each}"`)) ?? 'shell';
  const item = isResult
    ? { type: 'message', role: 'assistant', id: 'm_gov', content: [{ type: 'output_text', text: 'Done.' }] }
    : {
        type: 'function_call',
        id: 'fc_gov',
        call_id: callId,
        name,
        arguments: JSON.stringify(shells[name]?.(command)),
      };
  const usage = {
    input_tokens: 10,
    input_tokens_details: null,
    output_tokens: 5,
    output_tokens_details: null,
    total_tokens: 15,
  };
  return [
    { type: 'response.created', response: { id: 'resp_gov' } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id: 'resp_gov', usage } },
  ];
}
