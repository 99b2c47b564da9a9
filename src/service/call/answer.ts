/** The answers that a handler can return: plain, stored earlier, written as bytes, or streamed. */
import { GovError } from '../../contract/problems.ts';
import type { StoredResponse } from '../../store/port/store.ts';

export interface PlainAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The stored answer of an earlier, identical request. */
export interface Replayed {
  readonly replayed: StoredResponse;
}

/** A JSON body that was written in the worker thread; the tests hold it to the row's schema. */
export interface WrittenBody {
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

/** The one answer for what is missing, malformed, or another tenant's (contract A16). */
export const notFound = (what: string): GovError => {
  const where = what === 'project' ? 'organization' : 'project';
  return new GovError('NOT_FOUND', `no ${what} of this ${where} has this ${what === 'tile' ? 'path' : 'id'}`);
};
