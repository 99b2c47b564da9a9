/**
 * The MCP proxy before a server over Streamable HTTP: listens on the loopback, and forwards to one URL. Bodies and streams
 * are forwarded as their bytes came; events of a stream as they arrive. A stream that breaks affects itself alone.
 * Tested by `test/cli/commands/mcp/http.test.ts` with a real server and a real plane.
 */
import { createServer, request as plainRequest, Agent } from 'node:http';
import { request as secureRequest, Agent as SecureAgent } from 'node:https';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { limits } from '../../contract/limits.ts';
import { isObject } from '../../core/json/object.ts';
import { defaultBounds } from '../../core/json/parse.ts';
import { failure, notRun } from '../../core/mcp/answer.ts';
import { readClientMessage, type CallMessage, type ClientMessage } from '../../core/mcp/message.ts';
import type { Gate, Peers } from './gate.ts';
import { answerIn } from './http-answer.ts';
import { bodyFault, headerFault, originFault, type HttpFault } from './http-message.ts';
import { listTools, ListError } from './listing.ts';
import { OpenCall } from './open-calls.ts';
import type { Pins } from './pins.ts';
import { RelayedBody } from './relayed.ts';
import { namedIn } from './server-message.ts';
import { Sessions, type Session } from './sessions.ts';

export interface HttpOptions {
  readonly url: URL;
  readonly host: string;
  readonly port: number;
  readonly ca?: readonly string[];
  readonly gate: Gate;
  readonly pins: Pins;
  readonly warn: (text: string) => void;
}

const INVALID_REQUEST = -32600;
const SERVER_ERROR = -32000;

export class McpHttpProxy {
  readonly #options: HttpOptions;
  readonly #sessions = new Sessions();
  readonly #server: Server;
  readonly #agent: Agent;

  constructor(options: HttpOptions) {
    this.#options = options;
    const isSecure = options.url.protocol === 'https:';
    const ca = options.ca?.length ? { ca: [...options.ca] } : {};
    this.#agent = isSecure ? new SecureAgent({ keepAlive: true, ...ca }) : new Agent({ keepAlive: true });
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((cause: unknown) => {
        options.warn(`a request failed: ${String(cause)}`);
        response.destroy();
      });
    });
    // a stream may be silent for hours
    this.#server.requestTimeout = 0;
  }

  /** Returns the address for clients. */
  async listen(): Promise<string> {
    const { host, port, url } = this.#options;
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    const address = this.#server.address();
    const bound = typeof address === 'object' && address !== null ? address.port : port;
    return `http://${host.includes(':') ? `[${host}]` : host}:${bound}${url.pathname}`;
  }

  /** Ends all streams and waits for the records. Returns how many outcomes are not recorded. */
  async close(): Promise<number> {
    this.#server.close();
    this.#sessions.endAll('the proxy ended');
    this.#server.closeAllConnections();
    this.#agent.destroy();
    return this.#options.gate.flush();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url } = this.#options;
    const path = new URL(request.url ?? '/', url).pathname;
    const method = request.method ?? '';
    const early =
      originFault(request.headers) ??
      (path === url.pathname
        ? undefined
        : { status: 404, code: INVALID_REQUEST, detail: `expected the path ${url.pathname}` }) ??
      (method === 'POST' ? bodyFault(request.headers) : undefined);
    if (early !== undefined) return refuse(response, early);
    if (method === 'POST') return this.#post(request, response);
    if (method === 'GET' || method === 'DELETE') {
      const session = this.#sessions.of(request.headers);
      await this.#relay(request, response, { session });
      if (method === 'DELETE') this.#sessions.end(request.headers);
      return undefined;
    }
    return refuse(response, { status: 405, code: INVALID_REQUEST, detail: 'expected POST, GET or DELETE' });
  }

  async #post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    if (body === null) {
      const detail = `expected a body of at most ${limits.mcpMessageBytes} bytes`;
      return refuse(response, { status: 413, code: INVALID_REQUEST, detail });
    }
    const message = readClientMessage(body);
    if (message.kind === 'refused')
      return answer(response, 400, failure(message.id, message.code, message.detail));
    const mismatch = headerFault(message, request.headers);
    if (mismatch !== undefined) return refuse(response, mismatch, idOf(message));
    const session = this.#sessions.of(request.headers);
    if (message.kind === 'call') return this.#call(message, { request, response, session });
    if (message.kind === 'cancel' && message.requestId !== undefined) {
      const call = session.open.get(message.requestId)?.call;
      call?.cancel();
      // the server has not seen the request
      if (call?.isForwarded === false) return void response.writeHead(202).end();
    }
    if (message.kind === 'request') {
      const fault = session.open.add(message.id, message.method);
      if (fault !== undefined) return answer(response, 400, failure(message.id, INVALID_REQUEST, fault));
      if (message.method === 'initialize') session.peers = { ...session.peers, ...clientOf(message) };
    }
    await this.#relay(request, response, { session, body, id: idOf(message) });
    if (message.kind === 'request') session.open.remove(message.id);
  }

  async #call(
    message: CallMessage,
    { request, response, session }: { request: IncomingMessage; response: ServerResponse; session: Session },
  ): Promise<void> {
    const { gate } = this.#options;
    const { id } = message;
    if (gate.open >= limits.mcpOpenRequests) {
      const text = `not run: expected at most ${limits.mcpOpenRequests} calls that run or wait for their record`;
      return answer(response, 200, notRun(message, text));
    }
    const call = new OpenCall(message.meta['progressToken']);
    const fault = session.open.add(id, 'tools/call', call);
    if (fault !== undefined) return answer(response, 400, failure(id, INVALID_REQUEST, fault));
    response.once('close', () => leave(response, { message, call, session }));
    const { headers } = request;
    const listing = {
      asked: this.#sessions.lists.answered(),
      ask: (signal: AbortSignal) => this.#list(message, request, signal),
    };
    const context = { peers: session.peers, headers, signal: call.signal, listing };
    const own = await gate.call(message, context, () => {
      if (call.signal.aborted) return Promise.resolve(call.unsent());
      const run = call.run();
      this.#relay(request, response, { session, body: message.forwarded, id })
        .then((detail) => this.#streamEnded(detail, { call, session }))
        .catch((cause: unknown) => call.end({ how: 'unanswered', detail: String(cause) }));
      return run;
    });
    session.open.remove(id);
    if (own !== null) answer(response, 200, own);
    else if (!response.headersSent && !response.destroyed) response.writeHead(202).end();
  }

  /** Asks the server for its tools, with the headers of the call. */
  #list({ meta }: CallMessage, request: IncomingMessage, signal: AbortSignal): Promise<void> {
    return listTools(this.#options.pins, meta, async (params) => {
      const id = `gov:${crypto.randomUUID()}`;
      const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list', params }));
      const headers = {
        'content-length': body.length,
        'mcp-name': undefined,
        ...('mcp-method' in request.headers ? { 'mcp-method': 'tools/list' } : {}),
      };
      const outgoing = this.#outgoing(request, { headers, signal });
      try {
        outgoing.end(body);
        const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
        return await answerIn(incoming, JSON.stringify(id));
      } catch (cause) {
        if (cause instanceof ListError) throw cause;
        throw new ListError(
          `gave no answer to tools/list: ${cause instanceof Error ? cause.message : String(cause)}`,
        );
      }
    });
  }

  /** A request to the server, with the headers of the client's. */
  #outgoing(
    request: IncomingMessage,
    { headers = {}, signal }: { headers?: OutgoingHttpHeaders; signal?: AbortSignal },
  ): ClientRequest {
    const { url } = this.#options;
    const query = new URL(request.url ?? '/', url).search || url.search;
    const all = Object.entries({ ...endToEnd(request.headers), ...headers });
    return (url.protocol === 'https:' ? secureRequest : plainRequest)(url, {
      method: request.method,
      path: url.pathname + query,
      agent: this.#agent,
      headers: Object.fromEntries(all.filter(([, value]) => value !== undefined)),
      ...(signal && { signal }),
    });
  }

  /** An answer may still come on another stream of the session. */
  #streamEnded(detail: string | undefined, { call, session }: { call: OpenCall; session: Session }): void {
    if (detail !== undefined) call.end({ how: 'unanswered', detail });
    else if (!session.isResumable)
      call.end({ how: 'unanswered', detail: 'the stream ended without an answer' });
  }

  /** Forwards one exchange to its end. Returns why no answer can come any more; undefined if one may have. */
  async #relay(
    request: IncomingMessage,
    response: ServerResponse,
    { session, body, id = null }: { session: Session; body?: Uint8Array; id?: string | null },
  ): Promise<string | undefined> {
    const { url, pins, warn } = this.#options;
    const outgoing = this.#outgoing(
      request,
      body === undefined ? {} : { headers: { 'content-length': body.length } },
    );
    const stop = (): void => void outgoing.destroy();
    response.once('close', stop);
    try {
      outgoing.end(body);
      const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
      const status = incoming.statusCode ?? 502;
      if (status >= 300 && status < 400) {
        // following it would lead the client around the proxy
        incoming.destroy();
        throw new Error(`expected no redirection, got status ${status}`);
      }
      if (request.method === 'POST') this.#sessions.begin(incoming.headers, session);
      const learn = (peers: Peers): void => void (session.peers = { ...session.peers, ...peers });
      await new RelayedBody({
        incoming,
        response,
        receiving: { open: session.open, pins, learn },
        warn,
      }).run();
      return status < 300 ? undefined : `the server answered with status ${status}`;
    } catch (cause) {
      if (response.destroyed) return 'the client left';
      const detail = `the server at ${url.origin} gave no answer: ${cause instanceof Error ? cause.message : String(cause)}`;
      if (response.headersSent) response.destroy();
      else answer(response, 502, failure(id, SERVER_ERROR, detail));
      return detail;
    } finally {
      response.off('close', stop);
    }
  }
}

/** The client closed its stream. In 2026 that cancels; a session of 2025 can be resumed. */
function leave(
  response: ServerResponse,
  { message, call, session }: { message: CallMessage; call: OpenCall; session: Session },
): void {
  if (response.writableFinished) return;
  if (message.era !== '2026' && session.isResumable && call.isForwarded) return;
  call.cancel();
  call.end({ how: 'interrupted' });
}

const clientOf = (message: ClientMessage & { kind: 'request' }): Pick<Peers, 'client'> => {
  try {
    const params = message.envelope.value('params', defaultBounds);
    const client = isObject(params) ? namedIn(params['clientInfo']) : undefined;
    return client === undefined ? {} : { client };
  } catch {
    return {}; // the server judges its own handshake
  }
};

const idOf = (message: ClientMessage): string | null => ('id' in message ? message.id : null);

/** Null for a body over the limit. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limits.mcpMessageBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** Headers of one connection (RFC 9110 §7.6.1), and those that this exchange sets itself. */
const hopByHop = new Set(
  'host connection keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade content-length expect accept-encoding'.split(
    ' ',
  ),
);

const endToEnd = (headers: IncomingMessage['headers']): Record<string, string | string[] | undefined> => ({
  ...Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.has(name))),
  // packed answers cannot be inspected as they arrive
  'accept-encoding': 'identity',
});

function answer(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json' }).end(text);
}

const refuse = (
  response: ServerResponse,
  { status, code, detail }: HttpFault,
  id: string | null = null,
): void => answer(response, status, failure(id, code, detail));
