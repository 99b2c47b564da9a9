/**
 * What passes between the HTTP layer and a handler: the checked input of one call with its tenant, and the
 * answer. Nothing here knows HTTP beyond status codes and header names.
 */
import type { Input, MeteredType, Operation, Output, Scope } from '../../contract/operation.ts';
import { GovError } from '../../contract/problems.ts';
import type { OperationId, Table } from '../../contract/table.ts';
import { holds } from '../../core/credential.ts';
import type {
  Credential,
  IdempotencyWrite,
  Project,
  StoredPlane,
  StoredResponse,
} from '../../store/port/store.ts';
import type { Services } from '../dependencies.ts';
import type { StoredSettings } from './settings.ts';

/** Who calls. A key decides its project; a person names it, or acts on the organization. */
export interface Caller {
  /** Key, user or data plane id. */
  readonly id: string;
  readonly type: 'api_key' | 'person' | 'data_plane';
  /** What it came with, as the store knows it; null for an ID token, which the store does not, and for a data plane. */
  readonly credential: Credential | null;
  /** Where an operation is of the organization and a person named none: the home project of the environment. */
  readonly project: Project;
  readonly scopes: readonly string[];
  readonly rules: TenantRules;
  /** Of a data plane. */
  readonly plane?: CallingPlane;
}

/** A data plane as it was found by its key. */
export interface CallingPlane {
  readonly stored: StoredPlane;
  /** Whether it came with the key before, which works for a while. */
  readonly byPrevious: boolean;
  /** Secrets that sign its messages at a time. */
  secrets(nowMs: number): readonly Uint8Array[];
}

/** What holds in the project of a call. */
export interface TenantRules {
  /** Units a month; null: unlimited. */
  readonly quotas: Readonly<Record<MeteredType, number | null>>;
  readonly settings: StoredSettings;
  /** When the project was changed last; absent on a plane, where nothing changes it. */
  readonly revisedMs?: number;
}

/** What an Auth operation is called with, as it came. */
export interface Presented {
  /** Of `Authorization: Bearer`. */
  readonly bearer: string | null;
  /** Of the session cookie. */
  readonly cookie: string | null;
}

/** A client's Idempotency-Key, scoped and hashed, with the fingerprint of the request it came with. */
export interface Idempotency {
  readonly key: string;
  readonly fingerprint: string;
}

/** Headers of a conditional request as they were sent (RFC 9110 §13.1, §14.2); null where they were not. */
export interface Conditions {
  readonly range: string | null;
  readonly ifRange: string | null;
  readonly ifMatch: string | null;
  readonly ifNoneMatch: string | null;
}

export interface Call<Row extends Operation> extends Input<Row> {
  readonly caller: Row['scope'] extends null
    ? Row extends { readonly access: 'caller' }
      ? Caller
      : Caller | null
    : Caller;
  /** Null but on Auth operations. */
  readonly presented: Presented | null;
  /** `/api/v1` or `/sandbox/api/v1`, for Location headers. */
  readonly basePath: string;
  readonly idempotency: Idempotency | null;
  /** `If-Match` as it was sent, on operations that look at it. */
  readonly ifMatch: string | null;
  /** On operations whose answers have ranges; null on all others. */
  readonly conditions: Conditions | null;
  /** JCS of the body on signed operations: what was signed. Null on all others. */
  readonly canonical: string | null;
}

/** The stored answer of an earlier, identical request. */
export interface Replayed {
  readonly replayed: StoredResponse;
}

/** A JSON body that was written in the worker thread; the tests hold it to the row's schema. */
export interface Written {
  readonly status: number;
  readonly raw: Uint8Array;
}

/** An answer that is written while it is read. */
export interface Streamed {
  readonly status: 200 | 206 | 304;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes that follow. */
  readonly bytes: number;
  /** Begun once it is asked for; what it holds open is closed when it is left. */
  readonly chunks: () => AsyncIterable<Uint8Array>;
  /** Rejects once it would not be answered any more. */
  readonly still: () => Promise<void>;
}

export type Handler<Row extends Operation> = (
  call: Call<Row>,
  services: Services,
) => Promise<Output<Row> | Replayed | Written | Streamed>;

/** One handler for each row; a missing one does not compile. */
export type Handlers = { readonly [Id in OperationId]: Handler<Table[Id]> };

/** Whether a key's scopes allow an operation. */
export const allows = (scopes: readonly string[], scope: Scope): boolean => holds(scopes, scope);

/** The one answer for what is missing, malformed, or another tenant's (contract A16). */
export const notFound = (what: string): GovError => {
  const where = what === 'project' ? 'organization' : 'project';
  return new GovError('NOT_FOUND', `no ${what} of this ${where} has this ${what === 'tile' ? 'path' : 'id'}`);
};

export interface PlainAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The idempotency record of a call that has a key: keeps the answer in the transaction of its effect. */
export function idempotencyWrite(
  idempotency: Idempotency | null,
  answer: PlainAnswer,
): { idempotency?: IdempotencyWrite } {
  if (idempotency === null) return {};
  const { status, body, headers = {} } = answer;
  return { idempotency: { ...idempotency, response: { status, body: JSON.stringify(body), headers } } };
}

/** Begins the body of a kept answer that is sealed. */
const sealedMark = 'sealed:';

/** As above for an answer that shows a secret: it is kept sealed, and opened by `openKept` alone (contract D6). */
export function sealedWrite(
  idempotency: Idempotency | null,
  answer: PlainAnswer,
  { hosting }: Pick<Services, 'hosting'>,
): { idempotency?: IdempotencyWrite } {
  if (idempotency === null) return {};
  if (hosting === null) throw new Error('only a hosted service answers with secrets');
  const { status, body, headers = {} } = answer;
  const text = sealedMark + hosting.seal.seal(JSON.stringify(body));
  return { idempotency: { ...idempotency, response: { status, body: text, headers } } };
}

/** A kept answer as it was given. STORAGE_FAULT where it was sealed by another installation, or altered. */
export function openKept(kept: StoredResponse, { hosting }: Pick<Services, 'hosting'>): StoredResponse {
  if (!kept.body.startsWith(sealedMark)) return kept;
  const body = hosting?.seal.open(kept.body.slice(sealedMark.length)) ?? null;
  if (body !== null) return { ...kept, body };
  throw new GovError('STORAGE_FAULT', 'expected a kept answer that was sealed with the keys of this service');
}

/**
 * Keeps the answer of a call that appends nothing, so that a repeat gets it again. A crash before this leaves
 * the effect without the answer; the repeat is then executed.
 */
export async function keepAnswer<const Kept extends PlainAnswer>(
  { caller, idempotency }: { caller: Caller; idempotency: Idempotency | null },
  { store }: Services,
  answer: Kept,
): Promise<Kept> {
  if (idempotency === null) return answer;
  await store.append({
    projectId: caller.project.projectId,
    leaves: [],
    meter: { op: 'none', units: 0 },
    ...idempotencyWrite(idempotency, answer),
  });
  return answer;
}
