/**
 * The answers that a handler can return: plain, stored earlier, written as bytes, or streamed. Proven by
 * `test/service/scenarios.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { StoredResponse } from '../../store/port/store.ts';

export interface PlainAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The stored answer of an earlier, identical request. */
export interface ReplayedResponse {
  readonly replayed: StoredResponse;
}

/** A JSON body that is written already, as by a worker thread. Tests check it against the row's schema. */
export interface WrittenBody {
  readonly status: number;
  readonly raw: Uint8Array | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer whose body is read and written chunk by chunk. */
export interface StreamResponse {
  readonly status: 200 | 206 | 304;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes in the body. */
  readonly bytes: number;
  /** Starts reading when called. Leaving the iteration closes what the reader opened. */
  readonly chunks: () => AsyncIterable<Uint8Array>;
  /** Rejects once the same request would be refused, for example after the export expired. */
  readonly still: () => Promise<void>;
}

/** The one error for a resource that is missing, malformed, or another tenant's (contract A16). */
export const notFound = (what: string): GovError => {
  const where = what === 'project' ? 'organization' : 'project';
  return new GovError('NOT_FOUND', `no ${what} of this ${where} has this ${what === 'tile' ? 'path' : 'id'}`);
};
