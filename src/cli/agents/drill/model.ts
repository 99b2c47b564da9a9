/**
 * A stand-in for the model: it speaks the streaming interfaces of Anthropic (`/v1/messages`), OpenAI (`/v1/responses`) and
 * Gemini (`:streamGenerateContent`) on loopback, asks for one call after the other, and ends the turn after the last result.
 * No request leaves the machine.
 * Tested by `test/cli/agents/drill.test.ts`, and by `test/cli/agents/real.long.test.ts` with the real clients.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { limits } from '../../../contract/limits.ts';

/** What the model asks for: a command in the shell of the client, one of its tools, or code (Codex in code mode). */
export type ModelCall =
  | { readonly shell: string }
  | { readonly tool: string; readonly input: object }
  | { readonly code: string };

export interface Script {
  /** One call after the other, each after the result of the one before. */
  readonly calls: readonly ModelCall[];
  /** Calls of a subagent, whose prompt contains `subagentMark`. */
  readonly subagent?: readonly ModelCall[];
}

export const subagentMark = 'GOV-DRILL-SUBAGENT';

export interface StandIn {
  readonly origin: string;
  /** Whether the client asked for calls, and whether it then reported a result of the last one. */
  readonly seen: { asked: boolean; answered: boolean };
  close(): void;
}

/** `id`: the start of the ids of calls, as `callIdOf` makes them. */
export async function standIn(id: string, script: Script): Promise<StandIn> {
  const seen = { asked: false, answered: false };
  const server = createServer((request, response) => {
    void read(request).then(
      (body) => answer(body, { request, response, asked: { id, script }, seen }),
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

export const callIdOf = (id: string, at = 0): string => `${id}_${at}`;

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
  readonly asked: { readonly id: string; readonly script: Script };
  readonly seen: StandIn['seen'];
}

function answer(body: string, { request, response, asked, seen }: Exchange): void {
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const { call, isLast } = nextCall(body, asked);
  const stream = streamOf(path, call);
  if (stream === null) {
    response.writeHead(path.endsWith('/count_tokens') ? 200 : 404, { 'content-type': 'application/json' });
    response.end('{"input_tokens":10}');
    return;
  }
  if (call !== null) seen.asked = true;
  if (isLast) seen.answered = true;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(stream);
}

/** The call that answers a request: the first of the script whose id the conversation does not have yet. */
function nextCall(
  body: string,
  { id, script }: Exchange['asked'],
): { readonly call: Call; readonly isLast: boolean } {
  const isSub = script.subagent !== undefined && body.includes(subagentMark) && !body.includes(callIdOf(id));
  const [calls, start] = isSub ? [script.subagent, `${id}_sub`] : [script.calls, id];
  const at = calls.findIndex((_, index) => !body.includes(callIdOf(start, index)));
  const isLast = !isSub && at === -1;
  const next = calls[at];
  const shell = Object.keys(shells).find((name) => new RegExp(`"name":\\s*"${name}"`).test(body));
  // a request without a shell is about something else, such as a title of the session
  if (next === undefined || shell === undefined) return { call: null, isLast };
  return { call: { callId: callIdOf(start, at), ...namedCall(next, shell) }, isLast };
}

function namedCall(call: ModelCall, shell: string): Pick<NonNullable<Call>, 'name' | 'input'> {
  if ('shell' in call) return { name: shell, input: shells[shell]?.(call.shell) ?? {} };
  return 'tool' in call ? { name: call.tool, input: call.input } : { name: 'exec', input: call.code };
}

/** Returns the events that a path answers with; null for another path. */
function streamOf(path: string, call: Call): string | null {
  if (path.endsWith('/v1/messages')) return typed(messages(call));
  if (path.endsWith('/responses')) return typed(responses(call));
  return path.endsWith(':streamGenerateContent') ? `data: ${JSON.stringify(contents(call))}\n\n` : null;
}

const typed = (events: readonly StreamEvent[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

interface StreamEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Tools that run a command, with their arguments: those of Claude Code, Gemini CLI, Codex and OpenCode. */
const shells: Readonly<Record<string, (command: string) => object | string>> = {
  Bash: (command) => ({ command, description: 'a drill of gov' }),
  run_shell_command: (command) => ({ command, description: 'a drill of gov' }),
  exec_command: (cmd) => ({ cmd }),
  shell_command: (command) => ({ command }),
  shell: (command) => ({ command: ['bash', '-lc', command] }),
  bash: (command) => ({ command, description: 'a drill of gov' }),
  // code mode of Codex has this tool alone
  exec: (command) => `text(await tools.exec_command(${JSON.stringify({ cmd: command })}));`,
};

/** The call to ask for; null: the last words of the turn. `input`: its arguments, or a text of code. */
type Call = { readonly callId: string; readonly name: string; readonly input: object | string } | null;

function messages(call: Call): StreamEvent[] {
  const block =
    call === null
      ? { type: 'text', text: '' }
      : { type: 'tool_use', id: call.callId, name: call.name, input: {} };
  const delta =
    call === null
      ? { type: 'text_delta', text: 'Done.' }
      : { type: 'input_json_delta', partial_json: JSON.stringify(call.input) };
  const usage = { input_tokens: 10, output_tokens: 1 };
  const message = { id: 'msg_gov', type: 'message', role: 'assistant', model: 'gov-drill', content: [] };
  return [
    { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null, usage } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: call === null ? 'end_turn' : 'tool_use', stop_sequence: null },
      usage: { output_tokens: 5 },
    },
    { type: 'message_stop' },
  ];
}

function responses(call: Call): StreamEvent[] {
  const item =
    call === null
      ? { type: 'message', role: 'assistant', id: 'm_gov', content: [{ type: 'output_text', text: 'Done.' }] }
      : typeof call.input === 'string'
        ? {
            type: 'custom_tool_call',
            id: 'ctc_gov',
            call_id: call.callId,
            name: call.name,
            input: call.input,
          }
        : {
            type: 'function_call',
            id: 'fc_gov',
            call_id: call.callId,
            name: call.name,
            arguments: JSON.stringify(call.input),
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

function contents(call: Call): object {
  const part =
    call === null
      ? { text: 'Done.' }
      : { functionCall: { id: call.callId, name: call.name, args: call.input } };
  return {
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  };
}
