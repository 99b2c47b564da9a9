/**
 * Captures of the Model Context Protocol: JSON-RPC messages of a client and a server, one a line, as `{ts, dir, msg}`, as
 * `C {…}` and `S {…}`, or bare. A session over stdio has no id; one over HTTP has. A message's position in the capture is
 * the id of its event. An answer to an elicitation comes from the client's program, so it is never an approval.
 * Tested by `test/core/intake/formats/mcp.test.ts`.
 */
import type { Ending } from '../../../contract/endings.ts';
import { endingOf } from '../ending.ts';
import type { Format } from '../format.ts';
import {
  isSource,
  RunBuilder,
  textOf,
  type Draft,
  type ImportContext,
  type ImportedRun,
  type Party,
  type Source,
} from '../run.ts';
import { readTime, type SourceTime } from '../time.ts';

const name = 'mcp';

const isMessage = (value: unknown): value is Source =>
  isSource(value) &&
  value['jsonrpc'] === '2.0' &&
  ('method' in value || 'result' in value || 'error' in value);

/** A captured message, the server's standard error, or the end of its process. */
const isLine = (value: unknown): value is Source =>
  isMessage(value) ||
  (isSource(value) &&
    typeof (value['dir'] ?? value['direction']) === 'string' &&
    (isMessage(messageOf(value)) ||
      typeof value['raw'] === 'string' ||
      ('transport' in value && value['dir'] === 'exit')));

const messageOf = (line: Source): unknown => line['msg'] ?? line['message'];

const isCapture = (value: unknown): value is readonly Source[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every(isLine) &&
  value.some((line) => isMessage(read(line).message));

type Side = 'client' | 'server';

interface CapturedMessage {
  readonly message: Source | undefined;
  /** Who sent it; undefined: the capture does not say. */
  readonly from: Side | undefined;
  readonly at: SourceTime | null;
  readonly line: Source;
}

function read(line: Source): CapturedMessage {
  if (isMessage(line)) return { message: line, from: undefined, at: null, line };
  const message = messageOf(line);
  const direction = String(line['dir'] ?? line['direction']);
  const from = /^(C$|client|c2s|out|->|send)/.test(direction)
    ? 'client'
    : /^(S$|server|s2c|in|<-|recv)/.test(direction)
      ? 'server'
      : undefined;
  const at = readTime(line['ts'] ?? line['timestamp'] ?? line['time']);
  return { message: isMessage(message) ? message : undefined, from, at, line };
}

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  const lines = (Array.isArray(document) ? document : [document]) as readonly Source[]; // detect has checked it
  const captured = lines.map(read);
  const session = captured
    .map(({ line }) => textOf(line['sessionId'] ?? line['mcp-session-id']))
    .find(Boolean);
  const opening = [lines[0], captured.find(({ message }) => message !== undefined)?.message];
  const run = new RunBuilder(name, session === undefined ? { opening } : { id: session }, context);
  const writer = new MessageWriter(run, captured);
  run.add({
    eventType: 'run.started',
    actor: writer.client,
    action: 'start',
    key: 'start',
    at: captured[0]?.at ?? null,
    metadata: { importer: name },
  });
  for (const [index, each] of captured.entries()) writer.write(each, index);
  yield run.finish(lines.length);
}

interface OpenRequest {
  /** The whole line, to know one that is there twice. */
  readonly line: Source;
  readonly method: string;
  readonly tool: Party | undefined;
  readonly callId: string | undefined;
  readonly event: string;
}

class MessageWriter {
  readonly client: Party;
  readonly #run: RunBuilder;
  #server: Party = { name: 'mcp server', type: 'server' };
  /** Open requests by their sender and id: both sides number their own. */
  readonly #asked = new Map<string, OpenRequest>();
  readonly #calls = new Map<string, number>();

  /** Requests that get an answer, if late, by their sender and id. */
  readonly #answered: ReadonlySet<string>;

  constructor(run: RunBuilder, captured: readonly CapturedMessage[]) {
    this.#run = run;
    this.#answered = new Set(captured.flatMap(answeredBy));
    this.client = { name: clientIn(captured) ?? 'mcp client', role: 'agent' };
  }

  write({ message, from, at, line }: CapturedMessage, index: number): void {
    const key = `line${index}`;
    if (message === undefined) this.#other(line, { at, key });
    else if (typeof message['method'] === 'string') this.#request(message, { from, at, key, line });
    else this.#response(message, { from, at, key });
  }

  #other(line: Source, { at, key }: MessageKey): void {
    if (line['dir'] === 'exit') {
      for (const place of this.#asked.keys())
        this.#leftOpen(place, { ending: 'unanswered', said: { at, key } });
      this.#run.add({
        eventType: 'run.ended',
        actor: this.#server,
        action: 'end',
        metadata: { exitCode: line['code'], signal: line['signal'] },
        at,
        key,
      });
      return;
    }
    if (!/stderr/.test(String(line['dir']))) {
      this.#run.unknown('a line that is no message', line, { actor: this.#server, at, key });
      return;
    }
    this.#run.add({
      eventType: 'agent.step',
      actor: this.#server,
      action: 'stderr',
      metadata: { content: line['raw'] },
      at,
      key,
    });
  }

  #request(
    message: Source,
    { from, at, key, line }: MessageKey & { from: Side | undefined; line: Source },
  ): void {
    const method = String(message['method']);
    const params = isSource(message['params']) ? message['params'] : {};
    if (!isSource(message['params'] ?? {}))
      this.#run.unknown('parameters that are no object', message['params'], {
        actor: this.#server,
        at,
        key: `${key}.params`,
      });
    const sender = from ?? (isOfServer(method) ? 'server' : 'client');
    const place = `${sender} ${JSON.stringify(message['id'])}`;
    const open = 'id' in message ? this.#asked.get(place) : undefined;
    // a sender gives no id again before its answer
    if (open !== undefined && JSON.stringify(open.line) === JSON.stringify(line)) {
      this.#run.changes.add('id_repeated');
      return;
    }
    const { _meta: meta, ...given } = params;
    const tool =
      method === 'tools/call' ? { name: textOf(given['name']) ?? 'unknown', type: 'mcp_tool' } : undefined;
    const callId = tool === undefined ? undefined : this.#callId(message, meta);
    const event = this.#run.add({
      ...describe(method, given),
      actor: sender === 'client' ? this.client : this.#server,
      ...(tool === undefined ? {} : { resource: tool }),
      metadata: {
        method,
        requestId: message['id'],
        toolCallId: callId,
        [tool === undefined ? 'params' : 'arguments']: tool === undefined ? given : given['arguments'],
        // a retry of the 2026 protocol carries the answers to what the server asked
        inputResponses: tool === undefined ? undefined : given['inputResponses'],
        meta,
      },
      at,
      key,
    });
    if (method === 'notifications/cancelled') {
      const cancelled = `${sender} ${JSON.stringify(params['requestId'])}`;
      if (!this.#answered.has(cancelled))
        this.#leftOpen(cancelled, { ending: 'interrupted', said: { at, key } });
    }
    if ('id' in message) this.#asked.set(place, { line, method, tool, callId, event });
  }

  /** The model's own call id where the client passes it on, else the request's number in the capture. */
  #callId(message: Source, meta: unknown): string {
    const given = isSource(meta) ? textOf(meta['claudecode/toolUseId']) : undefined;
    const id = given ?? `mcp:${String(message['id'])}`;
    const uses = (this.#calls.get(id) ?? 0) + 1;
    this.#calls.set(id, uses);
    if (uses > 1) this.#run.changes.add('call_id_renamed');
    return uses === 1 ? id : `${id}~${uses}`;
  }

  #response(message: Source, { from, at, key }: MessageKey & { from: Side | undefined }): void {
    const id = JSON.stringify(message['id']);
    const asker = from === undefined ? undefined : from === 'client' ? 'server' : 'client';
    const candidates = asker === undefined ? ['client', 'server'] : [asker];
    const found = candidates.map((side) => `${side} ${id}`).filter((place) => this.#asked.has(place));
    const place = found.length === 1 ? found[0] : undefined;
    const asked = place === undefined ? undefined : this.#asked.get(place);
    if (place !== undefined) this.#asked.delete(place);
    const answerer = from ?? (place?.startsWith('server') === true ? 'client' : 'server');
    const result = isSource(message['result']) ? message['result'] : undefined;
    this.#learnServer(result, answerer);
    const said = [result, result?.['content'], result?.['structuredContent']];
    const stated = 'error' in message ? 'error' : result?.['isError'] === false ? 'ok' : undefined;
    // a result is none of an error unless it says so
    const ending = endingOf({ stated, results: said, silent: 'ok' });
    const outcome =
      ending === 'ok' && result?.['resultType'] === 'input_required' ? 'input_required' : ending;
    if (asked === undefined) this.#run.changes.add('call_unknown');
    this.#run.add({
      eventType: asked?.tool === undefined ? 'agent.step' : 'tool.result',
      actor: answerer === 'client' ? this.client : this.#server,
      action: asked?.tool === undefined ? `answer ${asked?.method ?? 'a request'}` : 'return',
      resource: asked?.tool,
      metadata: {
        requestId: message['id'],
        toolCallId: asked?.callId,
        content: 'error' in message ? message['error'] : (result ?? message['result']),
        outcome,
      },
      causedBy: asked === undefined ? [] : [asked.event],
      marks: found.length > 1 ? ['ambiguous'] : [],
      at,
      key,
    });
  }

  /** A call that gets no answer has ended all the same. */
  #leftOpen(place: string, { ending, said }: { ending: Ending; said: MessageKey }): void {
    const asked = this.#asked.get(place);
    if (asked?.tool === undefined) return;
    this.#asked.delete(place);
    this.#run.add({
      eventType: 'tool.result',
      actor: this.client,
      action: 'return',
      resource: asked.tool,
      metadata: { toolCallId: asked.callId, outcome: ending },
      causedBy: [asked.event],
      at: said.at,
      key: `${said.key}.${ending}.${String(asked.callId)}`,
    });
  }

  #learnServer(result: Source | undefined, answerer: Side): void {
    const meta = isSource(result?.['_meta']) ? result['_meta'] : {};
    const info = result?.['serverInfo'] ?? meta['io.modelcontextprotocol/serverInfo'];
    const named = isSource(info) ? textOf(info['name']) : undefined;
    if (answerer === 'server' && named !== undefined) this.#server = { name: named, type: 'server' };
  }
}

/** The request that a response answers, by its sender and id; of either side where the capture does not say. */
function answeredBy({ message, from }: CapturedMessage): string[] {
  if (message === undefined || 'method' in message) return [];
  const askers = from === undefined ? ['client', 'server'] : [from === 'client' ? 'server' : 'client'];
  return askers.map((asker) => `${asker} ${JSON.stringify(message['id'])}`);
}

type MessageKey = Pick<CapturedMessage, 'at'> & { readonly key: string };

/** Returns the client's name from its first request, where both protocols say it. */
function clientIn(captured: readonly CapturedMessage[]): string | undefined {
  const params = captured[0]?.message?.['params'];
  const { clientInfo, _meta: meta } = isSource(params) ? params : {};
  const info = clientInfo ?? (isSource(meta) ? meta['io.modelcontextprotocol/clientInfo'] : undefined);
  return isSource(info) ? textOf(info['name']) : undefined;
}

/** Methods that only servers send. */
const isOfServer = (method: string): boolean =>
  /^(sampling|elicitation|roots)\/|^notifications\/(message|resources|tools|prompts|progress)/.test(method);

function describe(method: string, params: Source): Pick<Draft, 'eventType' | 'action' | 'resource'> {
  switch (method) {
    case 'tools/call':
      return { eventType: 'tool.call', action: 'execute' };
    case 'resources/read':
      return {
        eventType: 'kb.query',
        action: 'read',
        resource: { name: textOf(params['uri']) ?? 'unknown', type: 'data' },
      };
    case 'sampling/createMessage':
      return {
        eventType: 'model.invoked',
        action: 'inference',
        resource: { name: 'client model', type: 'model' },
      };
    default:
      return { eventType: 'agent.step', action: method };
  }
}

export const mcp: Format = {
  name,
  about: 'Captures of MCP sessions, of the protocols of 2025 and 2026',
  expects: 'lines with JSON-RPC messages: {ts, dir, msg}, C {…} and S {…}, or bare',
  maps: [
    ['request tools/call', 'tool.call'],
    ['its response', 'tool.result: outcome error for isError and JSON-RPC errors, or input_required'],
    ['resources/read', 'kb.query'],
    ['sampling/createMessage', 'model.invoked'],
    ['elicitation/create and its answer', 'agent.step, never an approval'],
    ['other requests, responses, notifications, stderr', 'agent.step'],
    ['a call that is cancelled, or open at the exit', 'tool.result: outcome interrupted, unanswered'],
    ['exit', 'run.ended'],
  ],
  example: [
    {
      dir: 'client->server',
      msg: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay', arguments: { amount: 5 } } },
    },
    {
      dir: 'server->client',
      msg: { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'paid' }] } },
    },
  ],
  detect: (document) => (isCapture(document) || isMessage(document) ? 'JSON-RPC messages of MCP' : undefined),
  isLine,
  runs,
};
