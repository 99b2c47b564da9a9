/**
 * From the contract table to routes, and what is decided before a byte of a body is kept: envelope, overload,
 * credential, scope, media type. Proven by `test/http/*.test.ts` over real sockets.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { limits } from '../contract/limits.ts';
import type { Operation } from '../contract/operation.ts';
import { GovError } from '../contract/problems.ts';
import { table, type OperationId } from '../contract/table.ts';
import type { Caller } from '../service/call.ts';
import { jsonMediaType } from './answer.ts';
import { readToken, requireScope, requireToken } from './credentials.ts';
import { InFlight } from './idempotency.ts';
import { checkAccept, checkEnvelope, checkMediaType } from './negotiate.ts';
import { basePaths, type AnyHandler, type MountOptions, type Route } from './route.ts';
import { fail, serve } from './serve.ts';
import { OperationStats } from './stats.ts';

/** Adds every operation under both base paths; answers the counters of what was mounted. */
export function mount(app: FastifyInstance, options: MountOptions): OperationStats[] {
  const inFlight = new InFlight();
  return options.operations.map((id) => {
    const row: Operation = table[id];
    const [first] = Object.values(row.success);
    const contentType = first !== undefined && 'mediaType' in first ? first.mediaType : jsonMediaType;
    const stats = new OperationStats(id);
    for (const environment of ['production', 'sandbox'] as const) {
      addRoute(app, {
        ...options,
        id,
        row,
        basePath: basePaths[environment],
        environment,
        contentType,
        mediaType: contentType.split(';')[0] ?? contentType,
        handler: options.handlers[id] as AnyHandler,
        inFlight,
        stats,
        check: null,
      });
    }
    return stats;
  });
}

function addRoute(app: FastifyInstance, route: Route): void {
  const { row, basePath } = route;
  app.route({
    method: row.method,
    url: basePath + row.path.replace(/\{([^}]+)\}/g, ':$1'),
    bodyLimit: row.bodyBytes ?? limits.bodyBytes,
    // recording has no timer of its own: the write queue is bounded, and a timer costs 5 % of a request
    ...(recording.has(route.id) ? {} : { handlerTimeout: handlerSeconds(row) * 1000 }),
    errorHandler: (error, request, reply) => fail(route, error, { request, reply }),
    onRequest: (request, _reply, done) => {
      try {
        const admitted = admit(route, request);
        if (admitted === undefined) done();
        // oxlint-disable-next-line promise/no-callback-in-promise -- Fastify's hook, without a promise where none is needed
        else admitted.then(() => done(), done);
      } catch (error) {
        done(error as Error);
      }
    },
    handler: (request, reply) => {
      void serve(route, request, reply);
    },
  });
}

const recording: ReadonlySet<OperationId> = new Set([
  'createEvent',
  'createEvents',
  'evaluatePolicy',
  'evaluateTool',
  'evaluateRisk',
] as const);

/** What is computed over whole runs may take longer; a seal of a million events takes a minute. */
const isHeavy = ({ tag }: Operation): boolean => tag === 'Compliance Proofs' || tag === 'Causal Graphs';

const handlerSeconds = (row: Operation): number =>
  isHeavy(row) ? limits.heavyTimeoutSeconds : limits.handlerTimeoutSeconds;

/** Everything that is decided before the body is read. A promise only where a key has to be looked up. */
function admit(route: Route, request: FastifyRequest): Promise<void> | undefined {
  const { row } = route;
  if (route.closing()) throw new GovError('SHUTTING_DOWN', 'the server is shutting down; repeat later');
  checkEnvelope(request.raw);
  if (row.tag !== 'Health') route.overload.check();
  // else the socket would count as idle before the answer is there; Node resets it for the next request
  if (isHeavy(row)) request.raw.socket.setTimeout(limits.heavyTimeoutSeconds * 1000);
  if (row.scope === null) return admitAnyone(route, request);
  const token = requireToken(readToken(request.headers));
  const caller = route.credentials.identify(token, route.environment);
  if (!(caller instanceof Promise)) return admitCaller(route, request, caller);
  return caller.then((found) => admitCaller(route, request, found));
}

/** On operations without a scope a credential only adds details, so a bad one is as good as none. */
async function admitAnyone(route: Route, request: FastifyRequest): Promise<void> {
  try {
    const token = readToken(request.headers);
    if (token !== null) request.caller = await route.credentials.identify(token, route.environment);
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
  }
}

function admitCaller({ row, mediaType }: Route, request: FastifyRequest, caller: Caller): undefined {
  if (row.scope !== null) requireScope(caller, row.scope);
  checkAccept(request.headers.accept, mediaType);
  if (row.method !== 'GET') checkMediaType(request.raw);
  request.caller = caller;
  return undefined;
}
