/**
 * The HTTP server: Fastify, hardened (reliability S19-S21, S42). Only this folder knows Fastify. Nothing that
 * Fastify would do to a body happens: no coercion, no defaults, no schema of its own.
 * Proven by `test/http/transport.test.ts`, `slow.test.ts` and `hostile.test.ts`.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { limits } from '../contract/limits.ts';
import { GovError } from '../contract/problems.ts';
import { table, type OperationId } from '../contract/table.ts';
import type { Handlers } from '../service/call.ts';
import type { Log } from '../service/log.ts';
import type { Services } from '../service/services.ts';
import { apiVersion, isClosing, writeAnswer } from './answer.ts';
import { Credentials } from './credentials.ts';
import { mount } from './mount.ts';
import { Overload } from './overload.ts';
import { renderPage } from './pages.ts';
import { problemMediaType, renderProblem } from './problem.ts';
import { requestId } from './requestid.ts';
import { basePaths } from './route.ts';
import { asGovError } from './serve.ts';
import type { OperationStats } from './stats.ts';
import { asksForStream, Streams } from './stream.ts';

export interface ServerOptions {
  readonly services: Services;
  readonly handlers: Handlers;
  readonly operations: readonly OperationId[];
  /** Absolute URI under which problem pages are reachable; the listener's own origin where absent. */
  readonly problemBase?: string;
  /** When to shed load; the limits of the contract where absent. */
  readonly overload?: { readonly memoryBytes?: number; readonly delayMs?: number };
  /** Seconds; the limits of the contract where absent. */
  readonly timeouts?: {
    readonly headers?: number;
    readonly request?: number;
    readonly idle?: number;
    readonly stall?: number;
  };
}

export interface HttpServer {
  /** Binds and answers the origin, such as `http://127.0.0.1:7460`. */
  listen(address: { host: string; port: number }): Promise<string>;
  /** Refuses new requests, lets running ones end, cuts what is left after `drainSeconds`. */
  close(drainSeconds?: number): Promise<void>;
  readonly stats: readonly OperationStats[];
}

export function createServer(options: ServerOptions): HttpServer {
  let origin = options.problemBase ?? 'http://localhost';
  let closing = false;
  const problemBase = (): string => origin;
  const app = createApp(options, problemBase);
  const { services } = options;
  const overload = new Overload(() => services.store.condition().queued, options.overload);
  const credentials = new Credentials(services.store, services.now);
  const stats = mount(app, { ...options, credentials, overload, problemBase, closing: () => closing });
  addPages(app, { problemBase, log: services.log });
  const streams = new Streams(app.server, {
    services,
    credentials,
    problemBase,
    stallSeconds: options.timeouts?.stall,
  });

  return {
    stats,
    async listen({ host, port }) {
      const listening = await app.listen({ host, port });
      origin = options.problemBase ?? listening;
      return listening;
    },
    async close(drainSeconds = limits.drainSeconds) {
      closing = true;
      overload.stop();
      streams.close();
      const cut = setTimeout(() => app.server.closeAllConnections(), drainSeconds * 1000);
      await app.close();
      clearTimeout(cut);
    },
  };
}

function createApp(options: ServerOptions, problemBase: () => string): FastifyInstance {
  const { timeouts = {}, services } = options;
  const context = { problemBase, log: services.log };
  const headersSeconds = timeouts.headers ?? limits.headersTimeoutSeconds;
  const app = fastify({
    logger: false,
    bodyLimit: limits.bodyBytes,
    requestTimeout: (timeouts.request ?? limits.requestTimeoutSeconds) * 1000,
    connectionTimeout: (timeouts.idle ?? limits.socketIdleSeconds) * 1000,
    keepAliveTimeout: limits.keepAliveSeconds * 1000,
    maxRequestsPerSocket: limits.requestsPerSocket,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: requestId,
    trustProxy: false,
    http: {
      headersTimeout: headersSeconds * 1000,
      connectionsCheckingInterval: Math.min(1000, headersSeconds * 250),
      maxHeaderSize: limits.headerBytes,
      insecureHTTPParser: false,
      requireHostHeader: true,
      shouldUpgradeCallback: asksForStream,
    },
    routerOptions: {
      // an id that is too long is as unknown as any other; the URL is bounded before
      maxParamLength: limits.headerBytes,
      // queries are read by `text.ts`, from the text
      querystringParser: () => ({}),
    },
    frameworkErrors: (error, request, reply) => refuse(error, { request, reply }, context),
    clientErrorHandler: (error, socket) => refuseRaw(error, socket, problemBase()),
  });
  app.server.maxHeadersCount = 0; // `checkEnvelope` refuses a long list, where Node would cut it silently
  app.server.maxConnections = limits.connections;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.decorateRequest('caller', null);
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) refuse(noRoute(request), { request, reply }, context);
    else done();
  });
  app.setNotFoundHandler((request, reply) => refuse(noRoute(request), { request, reply }, context));
  app.setErrorHandler((error, request, reply) => refuse(error, { request, reply }, context));
  return app;
}

interface On {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}
interface RefuseContext {
  readonly problemBase: () => string;
  readonly log: Log;
}

function refuse(error: unknown, { request, reply }: On, { problemBase, log }: RefuseContext): void {
  const known = asGovError(error);
  if (known.code === 'INTERNAL') log.error({ err: error, requestId: request.id }, 'unexpected error');
  writeAnswer(reply, renderProblem(known, { requestId: request.id, base: problemBase() }));
}

/** METHOD_NOT_ALLOWED with `Allow` where the path exists with other methods, else NOT_FOUND. */
function noRoute({ method, url }: FastifyRequest): GovError {
  const path = url.split('?', 1)[0] ?? url;
  const relative = Object.values(basePaths).find((base) => path.startsWith(`${base}/`));
  const methods = relative === undefined ? [] : methodsOf(path.slice(relative.length));
  if (methods.length === 0) return new GovError('NOT_FOUND', 'no operation has this path');
  const allow = methods.join(', ');
  return new GovError('METHOD_NOT_ALLOWED', `expected ${allow}, got ${method}`, { extensions: { allow } });
}

const methodsOf = (path: string): string[] =>
  Object.values(table)
    .filter((row) => template(row.path).test(path))
    .map((row) => row.method);

/** A path template as a pattern; literals hold no special characters but dots. */
const template = (path: string): RegExp =>
  new RegExp(
    `^${path
      .replaceAll('.', '\\.')
      .replace(/\{[^}]+\}/g, '[^/]+')
      .replace(/\*$/, '.+')}$`,
  );

function addPages(app: FastifyInstance, context: RefuseContext): void {
  for (const url of ['/problems/:slug', '/openapi.json', '/api/v1/openapi.json']) {
    app.get(url, (request, reply) => {
      void answerPage({ request, reply }, context);
    });
  }
}

async function answerPage(on: On, context: RefuseContext): Promise<void> {
  try {
    const page = await renderPage((on.request.params as { slug?: string }).slug);
    if (page === null) throw new GovError('NOT_FOUND', 'no such page');
    writeAnswer(on.reply, page);
  } catch (error) {
    refuse(error, on, context);
  }
}

/** Faults before there is a request: the answer is written to the socket by hand. */
function refuseRaw(error: Error & { code?: string }, socket: Socket, base: string): void {
  if (isClosing(socket)) return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = rawProblem(error.code ?? '');
  const rendered = renderProblem(problem, { requestId: 'none', base });
  socket.end(
    [
      `HTTP/1.1 ${rendered.status} ${STATUS_CODES[rendered.status]}`,
      `content-type: ${problemMediaType}`,
      `content-length: ${Buffer.byteLength(rendered.body)}`,
      `gov-api-version: ${apiVersion}`,
      'connection: close',
      '',
      rendered.body,
    ].join('\r\n'),
    () => socket.destroy(),
  );
}

function rawProblem(code: string): GovError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new GovError('REQUEST_TIMEOUT', 'expected the whole request sooner');
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new GovError('HEADERS_TOO_LARGE', `expected at most ${limits.headerBytes} bytes of headers`);
  }
  return new GovError('VALIDATION_ERROR', 'expected well-formed HTTP/1.1');
}
