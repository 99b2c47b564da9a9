/** From the contract table to routes. Proven by `test/http/*.test.ts` over real sockets. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { limits } from '../contract/limits.ts';
import { accessOf, type Operation } from '../contract/operation.ts';
import { table, type OperationId } from '../contract/table.ts';
import type { Place } from '../service/access/shown.ts';
import { admit } from './admit/request.ts';
import { jsonMediaType } from './answer/write.ts';
import { InFlight } from './idempotency.ts';
import { rateOf, type HeaderLines } from './admit/rates.ts';
import {
  basePaths,
  environmentOf,
  isHeavy,
  type AnyHandler,
  type MountOptions,
  type Route,
} from './route.ts';
import { fail, serve } from './execute.ts';
import { OperationStats } from './answer/stats.ts';

/** Adds every operation, which both base paths lead to (`routedUrl`); answers the counters of what was mounted. */
export function mount(app: FastifyInstance, options: MountOptions): OperationStats[] {
  const inFlight = new InFlight();
  return options.operations.map((id) => {
    const row: Operation = table[id];
    const [first] = Object.values(row.success);
    const contentType = first !== undefined && 'mediaType' in first ? first.mediaType : jsonMediaType;
    const isEmpty = first !== undefined && 'empty' in first;
    const access = accessOf(row);
    const stats = new OperationStats(id);
    const below = (environment: Place['environment']): Route => ({
      ...options,
      id,
      row,
      basePath: basePaths[environment],
      access,
      place: { environment, needsProject: access === 'project', forPlane: access === 'plane' },
      rate: rateOf(row),
      lines: noticeLines(row),
      contentType,
      // a ranged answer is of the type that was asked for when it was made
      mediaType: isEmpty || row.ranged === true ? null : (contentType.split(';')[0] ?? contentType),
      handler: options.handlers[id] as AnyHandler,
      inFlight,
      stats,
      check: null,
    });
    addRoute(app, { production: below('production'), sandbox: below('sandbox') });
    return stats;
  });
}

function addRoute(app: FastifyInstance, routes: Readonly<Record<Place['environment'], Route>>): void {
  const { row, id, basePath } = routes.production;
  const routeOf = (request: FastifyRequest): Route => routes[environmentOf(request)];
  app.route({
    method: row.ranged === true ? [row.method, 'HEAD'] : row.method,
    url: basePath + row.path.replace(/\{([^}]+)\}/g, ':$1'),
    bodyLimit: row.bodyBytes ?? limits.bodyBytes,
    // recording has no timer of its own: the write queue is bounded, and a timer costs 5 % of a request
    ...(recording.has(id) ? {} : { handlerTimeout: handlerSeconds(row) * 1000 }),
    errorHandler: (error, request, reply) => fail(routeOf(request), error, { request, reply }),
    onRequest: (request, _reply, done) => {
      try {
        const admitted = admit(routeOf(request), request);
        if (admitted === undefined) done();
        // oxlint-disable-next-line promise/no-callback-in-promise -- Fastify's hook, without a promise where none is needed
        else admitted.then(() => done(), done);
      } catch (error) {
        done(error as Error);
      }
    },
    handler: (request, reply) => {
      void serve(routeOf(request), request, reply);
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

const handlerSeconds = (row: Operation): number =>
  isHeavy(row) ? limits.heavyTimeoutSeconds : limits.handlerTimeoutSeconds;

/** `Gov-Stability` (contract A10), and the notice of RFC 9745, RFC 8594 (contract A11). */
export function noticeLines({ stability, deprecation }: Operation): HeaderLines {
  const beta = stability === 'beta' ? ['gov-stability', 'beta'] : [];
  if (deprecation === undefined) return beta;
  const { since, sunset, link } = deprecation;
  return [
    ...beta,
    'deprecation',
    `@${since}`,
    'sunset',
    new Date(sunset * 1000).toUTCString(),
    'link',
    `<${link}>; rel="deprecation"`,
  ];
}
