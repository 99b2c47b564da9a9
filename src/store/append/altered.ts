/**
 * The error for a stored leaf that differs from the logged one.
 * Proven by `test/service/log/altered.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { TreeName } from '../port/store.ts';

export const altered = (tree: TreeName, index: number, what: string): GovError =>
  new GovError(
    'STORAGE_FAULT',
    `leaf ${index} of the ${tree} log ${what}; run gov log fsck --deep, and restore what it names from a backup`,
    { extensions: { tree, index } },
  );

/** Whether an error reports a stored leaf that differs from the logged one. */
export const isAltered = (error: unknown): error is GovError =>
  error instanceof GovError &&
  error.code === 'STORAGE_FAULT' &&
  typeof error.extensions['index'] === 'number';
