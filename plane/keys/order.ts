/** The order to change the keys of a plane, and what became of it. */
import type { KeyChange } from '../../src/core/note/key-history.ts';

export interface KeysChanged {
  readonly change: KeyChange['change'];
  /** Verifier keys that were added or retired. */
  readonly keys: readonly string[];
  /** Index of the leaf that says so. */
  readonly leaf: number;
  readonly inForce: readonly string[];
  readonly retired: readonly string[];
  readonly trustFile: string;
  /** What could not be done after the leaf, which holds, and who does it; null where all was. */
  readonly warning: string | null;
}

export type KeyOrder = 'rotate' | 'retire';
