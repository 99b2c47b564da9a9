/**
 * The routes of OTLP/HTTP, below each base path and at the root. They admit a request as all others do; bodies may be
 * protobuf and gzip, and errors are `google.rpc.Status` in the encoding of the request. At the root the key decides the
 * environment. Source: OTLP specification 1.9. Proven by `test/http/otlp/receive.engines.test.ts` and
 * `test/http/otlp/broken.test.ts`.
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../contract/limits.ts';
import { otlpSignals, receiverOf, receivers, type OtlpSignal } from '../../contract/otlp.ts';
import { GovError } from '../../contract/problems.ts';
import type { OtlpEncoding } from '../../core/intake/otlp/answer.ts';
import type { Caller } from '../../service/call/caller.ts';
import { DenialError, type OperationPlace } from '../../service/credentials/shown.ts';
import { withReceipt } from '../../service/log/receipts.ts';
import { authenticate, spend } from '../admit/gate.ts';
import { checkEnvelope } from '../admit/negotiate.ts';
import { readToken } from '../admit/presented.ts';
import { requireScope } from '../call/admit.ts';
import { renderProblem } from '../answer/problem.ts';
import { OperationStats } from '../answer/stats.ts';
import { writeAnswer, type RawAnswer } from '../answer/write.ts';
import { asGovError } from '../answer/errors.ts';
import { noticeLines } from '../call/mount.ts';
import { basePaths, type MountOptions } from '../call/route.ts';

type Environment = OperationPlace['environment'];

interface Receiver {
  readonly signal: OtlpSignal;
  /** Null at the root. */
  readonly environment: Environment | null;
  readonly options: MountOptions;
  readonly stats: OperationStats;
}

const pathOf = (signal: OtlpSignal, environment: Environment | null): string =>
  environment === null ? `/v1/${signal}` : `${basePaths[environment]}/otlp/v1/${signal}`;

const places = [null, 'production', 'sandbox'] as const;

export const otlpPaths = otlpSignals.flatMap((signal) => places.map((place) => pathOf(signal, place)));

/** The largest request; its inflated body has the same bound. */
const { otlpBodyBytes } = limits;

/** Mounts the receivers; returns one counter for each signal. */
export function mountReceivers(app: FastifyInstance, options: MountOptions): OperationStats[] {
  return otlpSignals.map((signal) => {
    const stats = new OperationStats(receiverOf[signal]);
    for (const environment of places) addReceiver(app, { signal, environment, options, stats });
    return stats;
  });
}

function addReceiver(app: FastifyInstance, receiver: Receiver): void {
  app.route({
    method: 'POST',
    url: pathOf(receiver.signal, receiver.environment),
    bodyLimit: otlpBodyBytes,
    errorHandler: (error, request, reply) => {
      void fail(receiver, error, { request, reply });
    },
    onRequest: (request) => admit(receiver, request),
    handler: (request, reply) => {
      void serve(receiver, { request, reply });
    },
  });
}

/** The same checks in the same order as for every other request, before its body is read. */
async function admit({ options, environment }: Receiver, request: FastifyRequest): Promise<void> {
  const { gate, origins, credentials, overload, unsent, closing } = options;
  if (closing()) throw new GovError('SHUTTING_DOWN', 'the server is shutting down; repeat later');
  checkEnvelope(request.raw, request.originalUrl);
  request.lines = [...(request.lines ?? []), ...noticeLines(receivers.receiveTraces)];
  overload.check();
  const place = { environment: environment ?? environmentOf(request), needsProject: true };
  const caller = await authenticate(request, { credentials, gate, origins, place, rate: 'events' });
  request.caller = caller;
  if (gate !== null) {
    const meter = { meters: receivers.receiveTraces.meters, rules: caller.rules };
    spend(request, gate.rates.spend('events', caller.id, meter));
  }
  requireScope(caller, receivers.receiveTraces.scope);
  unsent.check(request);
  encodingOf(request);
  isCompressed(request);
}

function environmentOf({ headers }: FastifyRequest): Environment {
  return readToken(headers)?.startsWith('gov_test_') === true ? 'sandbox' : 'production';
}

/** UNSUPPORTED_MEDIA_TYPE for other types than the two of the protocol. */
function encodingOf({ headers }: FastifyRequest): OtlpEncoding {
  const type = headers['content-type'] ?? '';
  if (/^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i.test(type)) return 'json';
  if (/^application\/x-protobuf\s*$/i.test(type)) return 'protobuf';
  const detail = 'expected Content-Type: application/json or application/x-protobuf';
  throw new GovError('UNSUPPORTED_MEDIA_TYPE', detail);
}

function isCompressed({ headers }: FastifyRequest): boolean {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'gzip') return true;
  if (encoding === 'identity' || encoding === '') return false;
  throw new GovError('UNSUPPORTED_MEDIA_TYPE', 'expected Content-Encoding: gzip, or none');
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Formats of other programs are loaded at the first request: they do not delay startup. */
const loadRecorder = () =>
  Promise.all([
    import('../../service/events/receive.ts'),
    import('../../core/intake/otlp/protobuf.ts'),
    import('../../core/intake/otlp/answer.ts'),
    import('../../core/intake/source.ts'),
  ]).then(([{ recordReceived }, { decodeSignal }, { encodeSuccess }, { parseLoose }]) => ({
    recordReceived,
    decodeSignal,
    encodeSuccess,
    parseLoose,
  }));

type Recorder = Awaited<ReturnType<typeof loadRecorder>>;

async function serve(receiver: Receiver, on: Exchange): Promise<void> {
  const { request, reply } = on;
  const { signal, options, stats } = receiver;
  const started = performance.now();
  try {
    const caller = request.caller as Caller; // `admit` has set it
    const recorder = await loadRecorder();
    const { services } = options;
    const answer = await withReceipt(services, caller.project, async (): Promise<RawAnswer> => {
      const recorded = await recorder.recordReceived(services, caller, {
        signal,
        read: async () => readBody(signal, request, recorder),
      });
      const encoding = encodingOf(request);
      const { kept, repeated, filtered, rejected } = recorded;
      return {
        status: 200,
        body: recorder.encodeSuccess(signal, recorded, encoding),
        headers: {
          'content-type': mediaTypes[encoding],
          // the protocol has no place for records that are neither stored nor refused
          'gov-records': `kept=${kept}, repeated=${repeated}, filtered=${filtered}, rejected=${rejected}`,
        },
      };
    });
    writeAnswer(reply, answer);
    stats.answered(200, performance.now() - started);
  } catch (error) {
    await fail(receiver, error, { ...on, started });
  }
}

const mediaTypes = { json: 'application/json', protobuf: 'application/x-protobuf' } as const;

/** INVALID_JSON for bytes that are no request of this signal; PAYLOAD_TOO_LARGE for too many inflated bytes. */
async function readBody(
  signal: OtlpSignal,
  request: FastifyRequest,
  { decodeSignal, parseLoose }: Recorder,
): Promise<Record<string, unknown>> {
  const sent = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
  const bytes = isCompressed(request) ? await inflated(sent) : sent;
  if (encodingOf(request) === 'protobuf') {
    try {
      return decodeSignal(bytes, signal);
    } catch (cause) {
      throw new GovError('INVALID_JSON', `expected a protobuf request of ${signal}, got other bytes`, {
        cause,
      });
    }
  }
  return jsonRequest(signal, bytes, parseLoose);
}

const inflate = promisify(gunzip);

async function inflated(bytes: Buffer): Promise<Buffer> {
  try {
    return await inflate(bytes, { maxOutputLength: otlpBodyBytes });
  } catch (cause) {
    if ((cause as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') {
      const detail = `expected at most ${otlpBodyBytes} inflated bytes, got more; send less, or split it`;
      throw new GovError('PAYLOAD_TOO_LARGE', detail, { extensions: { limit: otlpBodyBytes } });
    }
    throw new GovError('INVALID_JSON', 'expected a complete gzip body, got other bytes', { cause });
  }
}

const members = { traces: 'resourceSpans', logs: 'resourceLogs', metrics: 'resourceMetrics' } as const;

function jsonRequest(
  signal: OtlpSignal,
  bytes: Buffer,
  parseLoose: Recorder['parseLoose'],
): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseLoose(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new GovError('INVALID_JSON', `expected a JSON request of ${signal}, got other text`, { cause });
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const found = isObject ? (value as Record<string, unknown>) : {};
  // members of later versions are skipped, but a request of another signal would be lost
  if (isObject && (Object.hasOwn(found, members[signal]) || Object.keys(found).length === 0)) return found;
  const got = isObject
    ? Object.keys(found).slice(0, 3).join(', ')
    : Array.isArray(value)
      ? 'a list'
      : typeof value;
  throw new GovError('VALIDATION_ERROR', `expected an object with ${members[signal]}, got ${got}`);
}

async function fail(
  receiver: Receiver,
  error: unknown,
  on: Exchange & { readonly started?: number },
): Promise<void> {
  const { request, reply, started = performance.now() } = on;
  const { options, signal, stats } = receiver;
  const known = asGovError(error);
  const who = known instanceof DenialError ? known.caller : known.status === 403 ? request.caller : null;
  if (who !== null) options.services.denied?.(who, { operation: receiverOf[signal], code: known.code });
  if (known.code === 'INTERNAL') {
    options.services.log.error(
      { err: error, requestId: request.id, operation: receiverOf[signal] },
      'unexpected error',
    );
  }
  const problem = renderProblem(known, { requestId: request.id, base: options.problemBase() });
  const { detail } = JSON.parse(problem.body) as { detail: string };
  const isProtobuf = /^application\/x-protobuf\b/i.test(request.headers['content-type'] ?? '');
  const encoding = isProtobuf ? 'protobuf' : 'json';
  const { encodeFailure } = await import('../../core/intake/otlp/answer.ts');
  writeAnswer(reply, {
    ...problem,
    body: encodeFailure(problem.status, detail, encoding),
    headers: { ...problem.headers, 'content-type': mediaTypes[encoding] },
  });
  stats.answered(problem.status, performance.now() - started);
}
