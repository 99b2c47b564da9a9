/** A row of the table as it is served: once for each environment, at one route of Fastify's. */
import type { FastifyRequest } from 'fastify';
import type { Access, Operation } from '../contract/operation.ts';
import type { OperationId } from '../contract/table.ts';
import type {
  Caller,
  Handlers,
  PlainAnswer,
  Presented,
  Replayed,
  Streamed,
  Written,
} from '../service/call/handler.ts';
import type { Credentials } from '../service/access/credentials.ts';
import type { Check } from '../service/call/schema.ts';
import type { Services } from '../service/dependencies.ts';
import type { Place } from '../service/access/shown.ts';
import type { Gate } from './admit/gate.ts';
import type { InFlight } from './idempotency.ts';
import type { Overload } from './admit/overload.ts';
import type { HeaderLines, RateName } from './admit/rates.ts';
import type { OperationStats } from './answer/stats.ts';
import type { Unsent } from './answer/unsent.ts';

export interface MountOptions {
  readonly services: Services;
  readonly handlers: Handlers;
  readonly operations: readonly OperationId[];
  readonly credentials: Credentials;
  /** Null on a plane. */
  readonly gate: Gate | null;
  readonly overload: Overload;
  readonly unsent: Unsent;
  /** Absolute URI of the origin that serves `/problems/<slug>`. */
  readonly problemBase: () => string;
  readonly closing: () => boolean;
}

/** A handler with its row's types forgotten; `serve` gives it only input that the row's schemas accepted. */
export type AnyHandler = (
  call: never,
  services: Services,
) => Promise<PlainAnswer | Replayed | Written | Streamed>;

export interface Route extends MountOptions {
  readonly id: OperationId;
  readonly row: Operation;
  readonly basePath: string;
  readonly access: Access;
  readonly place: Place;
  readonly rate: RateName | null;
  /** What every answer tells of the operation: that it is beta, or going to be removed. */
  readonly lines: HeaderLines;
  /** Of the success answers: with parameters, and without; null where they have no body. */
  readonly contentType: string;
  readonly mediaType: string | null;
  readonly handler: AnyHandler;
  readonly inFlight: InFlight;
  readonly stats: OperationStats;
  /** The body's check, once it was needed. */
  check: Check | null;
}

/** What is computed over whole runs may take longer; a seal of a million events takes a minute. */
export const isHeavy = ({ tag }: Operation): boolean =>
  tag === 'Compliance Proofs' || tag === 'Causal Graphs';

/** What the id in a path names: `event` for `/events/{eventId}`. */
export const namedBy = ({ params, path }: Operation): string => {
  if (path.startsWith('/governance/snapshots/')) return 'snapshot';
  const [name = ''] = Object.keys((params?.properties ?? {}) as object);
  return named[name] ?? 'resource';
};
const named: Readonly<Record<string, string>> = {
  eventId: 'event',
  proofId: 'proof',
  jobId: 'job',
  exportId: 'export',
  runId: 'graph',
  policyId: 'policy',
  projectId: 'project',
  keyId: 'API key',
  '*': 'tile',
};

/** Where each environment is served (contract A17). */
export const basePaths = { production: '/api/v1', sandbox: '/sandbox/api/v1' } as const;

/** An origin, where a proxy's form of request has one (RFC 9112 §3.2.2), and the first segments of a path. */
const beginning = /^((?:https?:\/\/[^/]*)?)(\/[^/]*)((?:\/[^/]*){2}\/)/i;

/** What a URL is routed by: all is mounted below one base path, since a second one took each start 20 ms. */
export function routedUrl(url: string): string {
  if (url.startsWith(`${basePaths.production}/`)) return url;
  const [all = '', origin = '', first = '', others = ''] = beginning.exec(url) ?? [];
  const isSandbox = decoded(first + others) === `${basePaths.sandbox}/`;
  return isSandbox ? origin + others + url.slice(all.length) : url;
}

/** A letter may be percent-encoded (RFC 3986 §6.2.2.2); nothing where it is none. */
function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return '';
  }
}

export const environmentOf = ({ originalUrl, url }: FastifyRequest): Place['environment'] =>
  originalUrl === url ? 'production' : 'sandbox';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the credential is checked. */
    caller: Caller | null;
    /** Set on Auth operations. */
    presented: Presented | null;
    /** Headers that the answer has beside those of every answer; null: none. */
    lines: HeaderLines | null;
  }
}
