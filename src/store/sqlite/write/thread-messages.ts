/** What passes between a store and the thread that writes for it, by structured clone. */
import type { Failure } from '../../../contract/failure.ts';
import type { EventTuple, PlaceTuple } from './thread-wire.ts';
import type { Write } from './operations.ts';

export interface ThreadStart {
  readonly path: string;
  readonly masterKey?: Uint8Array | undefined;
}

export type ToThread =
  /** Writes in order; the first has number `first`, the others follow. `nowMs` is the store's clock. */
  | {
      readonly kind: 'write';
      readonly first: number;
      readonly nowMs: number;
      readonly writes: readonly (Write | EventTuple)[];
    }
  /** A storage error that was met outside: what SQLite said, and its code where it has one. */
  | { readonly kind: 'report'; readonly message: string; readonly code: string }
  | { readonly kind: 'heal' }
  | { readonly kind: 'close' };

export type FromThread =
  | { readonly kind: 'settled'; readonly outcomes: readonly (Settled | PlaceTuple)[] }
  | { readonly kind: 'warning'; readonly text: string }
  | { readonly kind: 'trouble'; readonly trouble: 'full' | 'fault'; readonly failure: Failure };

export type Settled =
  | { readonly no: number; readonly result: unknown }
  | { readonly no: number; readonly failure: Failure };
