/**
 * The messages between a store and its writing thread, sent by structured clone.
 * Proven by `test/store/sqlite/write/thread.alone.test.ts`.
 */
import type { Failure } from '../../../contract/failure.ts';
import type { Write } from './operations.ts';
import type { LeavesPart } from './parts.ts';

export interface ThreadStart {
  readonly path: string;
  readonly masterKey?: Uint8Array | undefined;
}

export type ToThread =
  /** Writes in order: the first has number `first`, the others count up. `nowMs` is the store's clock. */
  | {
      readonly kind: 'write';
      readonly first: number;
      readonly nowMs: number;
      readonly writes: readonly Write[];
    }
  /** Leaves of a write that follows. */
  | { readonly kind: 'leaves'; readonly part: LeavesPart }
  /** These writes do not follow, since one of them cannot be cloned. */
  | { readonly kind: 'forget'; readonly first: number; readonly count: number }
  /** A storage error from outside the thread: SQLite's message and code. */
  | { readonly kind: 'report'; readonly message: string; readonly code: string }
  | { readonly kind: 'heal' }
  | { readonly kind: 'close' };

export type FromThread =
  | { readonly kind: 'settled'; readonly outcomes: readonly WriteResult[] }
  | { readonly kind: 'warning'; readonly text: string }
  | { readonly kind: 'trouble'; readonly trouble: 'full' | 'fault'; readonly failure: Failure };

export type WriteResult =
  | { readonly no: number; readonly result: unknown }
  | { readonly no: number; readonly failure: Failure };
