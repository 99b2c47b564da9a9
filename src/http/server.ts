/**
 * The HTTP server: Fastify with limits on everything. Fastify changes no body: no coercion, no defaults, no
 * schema. Only this folder imports Fastify. Proven by `test/http/transport.test.ts`,
 * `test/http/answer/slow.test.ts` and `test/http/hostile.test.ts`.
 */
import type { ServerOptions as ListenerOptions } from 'node:http';
import { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { limits } from '../contract/limits.ts';
import { GovError, noOperation } from '../contract/problems.ts';
import { table, type OperationId } from '../contract/table.ts';
import type { Handlers } from '../service/port/handler.ts';
import type { Log } from '../service/call/log.ts';
import { prepareChecks } from '../service/call/schema.ts';
import { cookieNames } from '../service/console/cookie-names.ts';
import type { Services } from '../service/port/services.ts';
import { repeatedFault } from './admit/negotiate.ts';
import { Addresses } from './admit/address.ts';
import { compress, isCompressible } from './answer/compress.ts';
import { endWithProblem } from './answer/raw.ts';
import { isClosing, writeAnswer, type RawAnswer } from './answer/write.ts';
import { boundSockets } from './admit/sockets.ts';
import { spendOfAddress, type Gate } from './admit/gate.ts';
import { consolePaths, renderConsole, toConsole } from './answer/console.ts';
import { mount } from './call/mount.ts';
import { mountReceivers, otlpPaths } from './otlp/receive.ts';
import { Origins } from './admit/origins.ts';
import { Overload } from './admit/overload.ts';
import { renderPage } from './answer/pages.ts';
import { renderVerifyPage, verifyPagePath } from './answer/verify-page.ts';
import { renderProblem } from './answer/problem.ts';
import { Rates, type RateOptions } from './admit/rates.ts';
import { newRequestId, requestId } from './admit/request-id.ts';
import { basePaths, methodsAt } from './call/route.ts';
import { asGovError } from './answer/errors.ts';
import type { OperationStats } from './answer/stats.ts';
import { asksForStream, streamPaths, Streams } from './stream/events.ts';
import { UnsentBytes, unsentBounds } from './answer/unsent.ts';

export interface ServerOptions {
  readonly services: Services;
  readonly handlers: Handlers;
  readonly operations: readonly OperationId[];
  /** Absolute URI under which clients reach problem pages; default: the listener's own origin. */
  readonly problemBase?: string;
  /** When the server sheds load; default: the limits of the contract. */
  readonly overload?: { readonly memoryBytes?: number; readonly delayMs?: number };
  /** Rate limits of a hosted service; a plane ignores them. */
  readonly rates?: RateOptions;
  /** Origins of other web pages that may call the service, such as `https://app.example.com`. */
  readonly cors?: readonly string[];
  /** Addresses and subnets of load balancers whose `X-Forwarded-For` the server believes. */
  readonly trustedProxies?: readonly string[];
  /** The origin at which people reach the service; default: the listener's own. */
  readonly publicOrigin?: string;
  /** Open connections; default: the limit of the contract. */
  readonly connections?: number;
  /** Open sockets of one address, except trusted proxies; default: the limit of the contract. */
  readonly socketsPerAddress?: number;
  /** Plain HTTP where absent. */
  readonly tls?: { readonly context: SecureContextOptions; readonly isMutual: boolean };
  /** Seconds; default: the limits of the contract. */
  readonly timeouts?: {
    readonly headers?: number;
    readonly request?: number;
    readonly idle?: number;
    readonly stall?: number;
    /** How long a client may read nothing of an answer. */
    readonly unsent?: number;
  };
}

export interface HttpServer {
  /** Binds the address and returns the origin, such as `http://127.0.0.1:7460`. */
  listen(address: { host: string; port: number }): Promise<string>;
  /** Refuses new requests, lets running ones end, and closes all other connections after `drainSeconds`. */
  close(drainSeconds?: number): Promise<void>;
  readonly stats: readonly OperationStats[];
  /** Uses the certificate from the next handshake on; open connections keep theirs. */
  useCertificate(context: SecureContextOptions): void;
}

/** Creates the server. VALIDATION_ERROR where `cors` contains no origin or `trustedProxies` no address. */
export function createServer(options: ServerOptions): HttpServer {
  let listening = 'http://localhost';
  let closing = false;
  const { services, operations } = options;
  const { credentials } = services;
  const problemBase = (): string => options.problemBase ?? options.publicOrigin ?? listening;
  const origin = (): string => options.publicOrigin ?? listening;
  const origins = originsOf(options, origin);
  const gate = services.hosting === null ? null : createGate(options, origins);
  const unsent = createUnsent(options, gate);
  const context: Context = {
    problemBase,
    gate,
    unsent,
    log: services.log,
    operations,
    methodsOf: methodsOf(operations),
  };
  const app = createApp(options, context);
  const overload = new Overload(() => services.store.condition().queued, options.overload);
  const closes = () => closing;
  const mounted = {
    ...options,
    credentials,
    gate,
    origins,
    overload,
    unsent,
    problemBase,
    origin,
    closing: closes,
  };
  const stats = [...mount(app, mounted), ...mountReceivers(app, mounted)];
  addPages(app, context);
  const streams = new Streams(app.server, {
    services,
    gate,
    origins,
    problemBase,
    stallSeconds: options.timeouts?.stall,
  });

  return {
    stats,
    useCertificate: (context) => {
      if (app.server instanceof SecureServer) app.server.setSecureContext(context);
    },
    async listen({ host, port }) {
      listening = await app.listen({ host, port });
      // loads the schema compiler after startup; where that fails, the first request that needs it reports
      // the error
      void prepareChecks().catch(() => {});
      return listening;
    },
    async close(drainSeconds = limits.drainSeconds) {
      closing = true;
      overload.stop();
      streams.close();
      services.holds.end();
      const cut = setTimeout(() => app.server.closeAllConnections(), drainSeconds * 1000);
      await app.close();
      clearTimeout(cut);
    },
  };
}

/** A plane has no other pages. Over plain HTTP its cookie has a name without the prefix. */
const originsOf = ({ services, cors = [], tls }: ServerOptions, own: () => string): Origins =>
  services.hosting === null
    ? new Origins({ own, cookies: cookieNames(services, { isTls: tls !== undefined }) })
    : new Origins({ own, listed: cors });

function createGate({ services, rates = {}, trustedProxies = [] }: ServerOptions, origins: Origins): Gate {
  return {
    origins,
    rates: new Rates(rates, services),
    addresses: new Addresses(trustedProxies),
  };
}

const createUnsent = ({ overload = {}, timeouts = {} }: ServerOptions, gate: Gate | null): UnsentBytes =>
  new UnsentBytes({
    addressOf: (request) => gate?.addresses.of(request) ?? request.socket.remoteAddress ?? '',
    isHosted: gate !== null,
    bounds: unsentBounds(overload.memoryBytes ?? limits.memoryBytes),
    stallSeconds: timeouts.unsent,
  });

/** Options of Node's own server, for plain HTTP or TLS. */
function listenerOf({ tls }: ServerOptions, headersSeconds: number): { http: ListenerOptions } {
  const http = {
    headersTimeout: headersSeconds * 1000,
    connectionsCheckingInterval: Math.min(1000, headersSeconds * 250),
    maxHeaderSize: limits.headerBytes,
    insecureHTTPParser: false,
    // `repeatedFault` does, and answers a problem
    requireHostHeader: false,
    shouldUpgradeCallback: asksForStream,
  };
  if (tls === undefined) return { http };
  const { context, isMutual } = tls;
  const client = { requestCert: isMutual, rejectUnauthorized: isMutual };
  const https = { ...context, ...http, ...client, handshakeTimeout: headersSeconds * 1000 };
  // Fastify's types allow only one of the two; this file uses only what both servers have
  return { https } as unknown as { http: ListenerOptions };
}

function createApp(options: ServerOptions, context: Context): FastifyInstance {
  const { timeouts = {} } = options;
  const { gate, problemBase } = context;
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
    ...listenerOf(options, headersSeconds),
    routerOptions: {
      // an id that is too long names no resource, like any unknown id; the URL has a limit of its own
      maxParamLength: limits.headerBytes,
      // `call/text.ts` reads queries from the text of the URL
      querystringParser: () => ({}),
    },
    // `call/execute.ts` checks bodies, so Fastify need not load its schema compilers
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    frameworkErrors: (error, request, reply) => refuse(error, { request, reply }, context),
    clientErrorHandler: (error, socket) => refuseRaw(error, socket, problemBase()),
  });
  app.server.maxHeadersCount = 0; // `checkEnvelope` rejects a long list; Node would cut it silently
  app.server.maxConnections = options.connections ?? limits.connections;
  // RFC 9110 section 10.1.1 allows to ignore an expectation that is not 100-continue
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.removeAllContentTypeParsers();
  // Fastify caches the parser of a listed media type and searches again for any other
  app.addContentTypeParser(['application/json', '*'], { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  app.decorateRequest('caller', null);
  app.decorateRequest('presented', null);
  app.decorateRequest('lines', null);
  if (gate !== null) {
    boundSockets(app.server, gate.addresses, options.socketsPerAddress);
    app.addHook('onRequest', (request, reply, done) => {
      request.lines = gate.origins.lines(request.headers.origin);
      if (!answerPreflight({ request, reply }, context)) done();
    });
  }
  app.addHook('onRequest', (request, reply, done) => {
    const fault = repeatedFault(request.raw) ?? (request.is404 ? noRoute(request, context) : null);
    if (fault === null) done();
    else refuse(fault, { request, reply }, context);
  });
  app.setNotFoundHandler((request, reply) => refuse(noRoute(request, context), { request, reply }, context));
  app.setErrorHandler((error, request, reply) => refuse(error, { request, reply }, context));
  return app;
}

function noSchemas(): never {
  throw new Error('expected routes without schemas');
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}
interface Context {
  readonly problemBase: () => string;
  /** Null on a plane. */
  readonly gate: Gate | null;
  readonly unsent: UnsentBytes;
  readonly log: Log;
  readonly operations: readonly OperationId[];
  /** Methods that the operations at a path allow; empty for an unknown path or one without a base path. */
  readonly methodsOf: (path: string) => readonly string[];
}

function refuse(error: unknown, { request, reply }: Exchange, { problemBase, log }: Context): void {
  const known = asGovError(error);
  if (known.code === 'INTERNAL') log.error({ err: error, requestId: request.id }, 'unexpected error');
  writeAnswer(reply, renderProblem(known, { requestId: request.id, base: problemBase() }));
}

/** METHOD_NOT_ALLOWED with `Allow` where the path exists with other methods, else NOT_FOUND. */
function noRoute({ method, url }: FastifyRequest, context: Context): GovError {
  const methods = context.methodsOf(pathOf(url));
  if (methods.length === 0) return new GovError('NOT_FOUND', noOperation);
  const allow = methods.join(', ');
  return new GovError('METHOD_NOT_ALLOWED', `expected ${allow}, got ${method}`, { extensions: { allow } });
}

const pathOf = (url: string): string => url.split('?', 1)[0] ?? url;

function methodsOf(operations: readonly OperationId[]): Context['methodsOf'] {
  const rows: { methods: readonly string[]; path: RegExp }[] = [
    ...operations.map((id) => ({ methods: methodsAt(table[id]), path: template(`{base}${table[id].path}`) })),
    ...[...pages, ...consolePaths].map((path) => ({
      methods: pageMethods,
      path: template(path.replace(/:\w+/g, '{any}')),
    })),
    ...otlpPaths.map((path) => ({ methods: ['POST'], path: template(path) })),
  ];
  return (path) => [...new Set(rows.flatMap((row) => (row.path.test(path) ? row.methods : [])))];
}

/** A path template as a pattern. Literals contain no special characters except dots. */
const template = (path: string): RegExp =>
  new RegExp(
    `^${path
      .replaceAll('.', '\\.')
      .replace('{base}', `(?:${Object.values(basePaths).join('|')})`)
      .replace(/\{[^}]+\}/g, '[^/]+')
      .replace(/\*$/, '.+')}$`,
  );

const pages = ['/problems/:slug', '/openapi.json', '/api/v1/openapi.json'] as const;
const pageMethods = ['GET', 'HEAD'];

/** Answers a CORS preflight (Fetch standard) where the origin is on the list and the path exists. */
function answerPreflight({ request, reply }: Exchange, { gate, methodsOf: methods }: Context): boolean {
  if (gate === null || request.method !== 'OPTIONS') return false;
  const allowed = methods(pathOf(request.url));
  const headers = allowed.length === 0 ? null : gate.origins.preflight(request.headers, allowed);
  if (headers === null) return false;
  writeAnswer(reply, { status: 204, body: '', headers });
  return true;
}

function addPages(app: FastifyInstance, context: Context): void {
  for (const url of pages) {
    const handler = (request: FastifyRequest, reply: FastifyReply): void =>
      void answerPage({ request, reply }, context, pageOf);
    app.route({ method: pageMethods, url, handler });
  }
  for (const url of consolePaths) {
    const handler = (request: FastifyRequest, reply: FastifyReply): void =>
      void answerPage({ request, reply }, context, consoleFileOf);
    app.route({ method: pageMethods, url, handler });
  }
  for (const url of streamPaths) {
    const handler = (request: FastifyRequest, reply: FastifyReply): void =>
      refuse(noUpgrade(), { request, reply }, context);
    app.route({ method: pageMethods, url, handler });
  }
}

/** UPGRADE_REQUIRED (RFC 9110 section 15.5.22) for a request of a stream that asks for no WebSocket. */
const noUpgrade = (): GovError =>
  new GovError(
    'UPGRADE_REQUIRED',
    'expected Connection: Upgrade and Upgrade: websocket (RFC 6455), got neither',
  );

type Render = (request: FastifyRequest, context: Context) => Promise<RawAnswer>;

const pageOf: Render = async ({ params }, { operations }) => {
  const page = await renderPage((params as { slug?: string }).slug, operations);
  if (page === null) throw new GovError('NOT_FOUND', 'no such page');
  return page;
};

const consoleFileOf: Render = async ({ params, headers, url }) => {
  const path = pathOf(url);
  if (path === '/console') return toConsole;
  if (path === verifyPagePath) return renderVerifyPage();
  return renderConsole({ file: (params as { file?: string }).file, headers });
};

async function answerPage(on: Exchange, context: Context, render: Render): Promise<void> {
  const { request, reply } = on;
  try {
    context.unsent.check(request);
    if (context.gate !== null) spendOfAddress(on.request, context.gate, 'anonymous');
    const page = await render(request, context);
    const written = isCompressible(page) ? await compress(page, request.headers) : page;
    writeAnswer(reply, written);
    if (reply.raw.writableLength > limits.unsentCountedBytes) {
      context.unsent.hold(request, reply.raw, written.body);
    }
  } catch (error) {
    refuse(error, on, context);
  }
}

/** Answers an error before there is a request: writes the response to the socket by hand. */
function refuseRaw(error: Error & { code?: string }, socket: Socket, base: string): void {
  if (isClosing(socket)) return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = rawProblem(error.code ?? '');
  endWithProblem(socket, problem, { requestId: newRequestId(), base, written: () => socket.destroy() });
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
