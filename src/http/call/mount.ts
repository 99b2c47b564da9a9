/** Turns the rows of the contract table into routes of Fastify. Proven by `test/http/transport.test.ts`. */
import type { FastifyInstance } from 'fastify';
import { limits } from '../../contract/limits.ts';
import { rowNullDropper } from '../../contract/nulls.ts';
import { accessOf, type Operation } from '../../contract/operation.ts';
import { table, type OperationId } from '../../contract/table.ts';
import type { OperationPlace } from '../../service/credentials/shown.ts';
import { admit } from './admit.ts';
import { jsonMediaType, type HeaderLines } from '../answer/write.ts';
import { InFlight } from './in-flight.ts';
import { rateOf } from '../admit/rates.ts';
import { basePaths, isHeavy, methodsAt, type AnyHandler, type MountOptions, type Route } from './route.ts';
import { fail, serve } from './execute.ts';
import { OperationStats } from '../answer/stats.ts';

/**
 * Mounts every operation once below each base path. Returns one counter for each operation, shared by both
 * environments.
 */
export function mount(app: FastifyInstance, options: MountOptions): OperationStats[] {
  const inFlight = new InFlight();
  return options.operations.map((id) => {
    const row: Operation = table[id];
    const [first] = Object.values(row.success);
    const contentType = first !== undefined && 'mediaType' in first ? first.mediaType : jsonMediaType;
    const isEmpty = first !== undefined && 'empty' in first;
    const access = accessOf(row);
    const stats = new OperationStats(id);
    const dropNulls = rowNullDropper(row);
    const below = (environment: OperationPlace['environment']): Route => ({
      ...options,
      id,
      row,
      basePath: basePaths[environment],
      access,
      place: { environment, needsProject: access === 'project', forPlane: access === 'plane' },
      rate: rateOf(row),
      comparesBody: row.upload === undefined,
      lines: noticeLines(row),
      contentType,
      // a ranged answer has the type that its export was created with
      mediaType: isEmpty || row.ranged === true ? null : (contentType.split(';')[0] ?? contentType),
      handler: options.handlers[id] as AnyHandler,
      inFlight,
      stats,
      dropNulls,
      check: null,
    });
    for (const environment of environments) addRoute(app, below(environment));
    return stats;
  });
}

function addRoute(app: FastifyInstance, route: Route): void {
  const { row, id, basePath } = route;
  app.route({
    method: methodsAt(row),
    url: basePath + row.path.replace(/\{([^}]+)\}/g, ':$1'),
    bodyLimit: row.bodyBytes ?? limits.bodyBytes,
    // recording has no timer: the write queue is bounded, and a timer costs 5 % of a request
    ...(recording.has(id) ? {} : { handlerTimeout: handlerSeconds(row) * 1000 }),
    errorHandler: (error, request, reply) => fail(route, error, { request, reply }),
    onRequest: (request, _reply, done) => {
      try {
        const admitted = admit(route, request);
        if (admitted === undefined) done();
        // oxlint-disable-next-line promise/no-callback-in-promise -- a hook; known callers need none
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

const environments = Object.keys(basePaths) as readonly OperationPlace['environment'][];

const recording: ReadonlySet<OperationId> = new Set([
  'createEvent',
  'createEvents',
  'evaluatePolicy',
  'evaluateTool',
  'evaluateRisk',
] as const);

const handlerSeconds = (row: Operation): number =>
  isHeavy(row) ? limits.heavyTimeoutSeconds : limits.handlerTimeoutSeconds;

/**
 * The header `Gov-Stability` (contract A10) and the deprecation notice of RFC 9745 and RFC 8594 (contract
 * A11).
 */
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
