/**
 * A row of the contract table as the server mounts it, once for each environment. Proven by
 * `test/http/transport.test.ts`.
 */
import type { DropNulls } from '../../contract/nulls.ts';
import type { Access, Operation } from '../../contract/operation.ts';
import type { OperationId } from '../../contract/table.ts';
import type { Caller } from '../../service/call/caller.ts';
import type { Handlers, RawCredentials } from '../../service/port/handler.ts';
import type {
  PlainAnswer,
  ReplayedResponse,
  StreamResponse,
  WrittenBody,
} from '../../service/call/answer.ts';
import type { Credentials } from '../../service/credentials/callers.ts';
import type { BodyCheck } from '../../service/call/schema.ts';
import type { Services } from '../../service/port/services.ts';
import type { OperationPlace } from '../../service/credentials/shown.ts';
import type { Gate } from '../admit/gate.ts';
import type { InFlight } from './in-flight.ts';
import type { Origins } from '../admit/origins.ts';
import type { Overload } from '../admit/overload.ts';
import type { RateName } from '../admit/rates.ts';
import type { HeaderLines } from '../answer/write.ts';
import type { OperationStats } from '../answer/stats.ts';
import type { UnsentBytes } from '../answer/unsent.ts';

export interface MountOptions {
  readonly services: Services;
  readonly handlers: Handlers;
  readonly operations: readonly OperationId[];
  readonly credentials: Credentials;
  /** Null on a plane. */
  readonly gate: Gate | null;
  /** Which pages may send the session cookie. */
  readonly origins: Origins;
  readonly overload: Overload;
  readonly unsent: UnsentBytes;
  /** Absolute URI of the origin that serves `/problems/<slug>`. */
  readonly problemBase: () => string;
  /** The origin at which clients reach the service. */
  readonly origin: () => string;
  readonly closing: () => boolean;
}

/** A handler without its row's types. `execute.ts` passes only input that the row's schemas accepted. */
export type AnyHandler = (
  call: never,
  services: Services,
) => Promise<PlainAnswer | ReplayedResponse | WrittenBody | StreamResponse>;

export interface Route extends MountOptions {
  readonly id: OperationId;
  readonly row: Operation;
  readonly basePath: string;
  readonly access: Access;
  readonly place: OperationPlace;
  readonly rate: RateName | null;
  /** Whether `execute` compares a request token with the body. An upload is read past it. */
  readonly comparesBody: boolean;
  /** Headers of every answer that say whether the operation is beta or deprecated. */
  readonly lines: HeaderLines;
  /**
   * The media type of success answers with parameters; `mediaType` has none, and is null where there is no
   * body.
   */
  readonly contentType: string;
  readonly mediaType: string | null;
  readonly handler: AnyHandler;
  readonly inFlight: InFlight;
  readonly stats: OperationStats;
  /** Removes optional members of a body that are null; null where there are none. */
  readonly dropNulls: DropNulls | null;
  /** The compiled check of the body; null until the first request needs it. */
  check: BodyCheck | null;
}

/** The methods that a row answers: GET also as HEAD, with the same headers and no body (RFC 9110 section 9.3.2). */
export const methodsAt = ({ method }: Operation): string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method]);

/**
 * Whether an operation gets more time: one that reads whole runs, since a seal of a million events takes a minute, and a
 * call of a scheduler.
 */
export const isHeavy = ({ tag, access }: Operation): boolean =>
  tag === 'Compliance Proofs' || tag === 'Causal Graphs' || access === 'cron';

/** The resource that the last id in a path names: `event` for `/events/{eventId}`. */
export const namedBy = ({ params, path }: Operation): string => {
  if (path.startsWith('/governance/snapshots/')) return 'snapshot';
  if (path.startsWith('/runs/')) return 'run';
  const name = Object.keys((params?.properties ?? {}) as object).at(-1) ?? '';
  return named[name] ?? 'resource';
};
const named: Readonly<Record<string, string>> = {
  eventId: 'event',
  proofId: 'proof',
  jobId: 'job',
  exportId: 'export',
  scheduleId: 'report schedule',
  deliveryId: 'delivery',
  executionId: 'report',
  shareId: 'share link',
  token: 'share link',
  logoId: 'logo',
  runId: 'graph',
  policyId: 'policy',
  projectId: 'project',
  keyId: 'API key',
  approvalId: 'approval',
  approverId: 'approver',
  erasureId: 'erasure',
  replayId: 'replay',
  reportTemplateId: 'report template',
  dataPlaneId: 'data plane',
  challengeId: 'challenge',
  endpointId: 'webhook endpoint',
  webhookDeliveryId: 'webhook delivery',
  '*': 'tile',
};

/** The base path of each environment (contract A17). */
export const basePaths = { production: '/api/v1', sandbox: '/sandbox/api/v1' } as const;

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until the server has checked the credential. */
    caller: Caller | null;
    /** Set on Auth operations. */
    presented: RawCredentials | null;
    /** Headers that this answer has in addition to the common ones; null for none. */
    lines: HeaderLines | null;
  }
}
