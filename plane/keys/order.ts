/**
 * An order to change the keys of a plane, and its result.
 */
import type { KeyChange } from '../../src/core/note/key-history.ts';

export interface KeyChangeResult {
  readonly change: KeyChange['change'];
  /** The verifier keys that the change added or retired. */
  readonly keys: readonly string[];
  /** Index of the leaf that records the change. */
  readonly leaf: number;
  readonly inForce: readonly string[];
  readonly retired: readonly string[];
  readonly trustFile: string;
  /** What failed after the durable leaf, and who repairs it. Null where nothing failed. */
  readonly warning: string | null;
}

export type KeyOrder = 'rotate' | 'retire';
