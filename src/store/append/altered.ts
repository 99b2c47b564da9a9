/** Leaves that are not what was logged. */
import { GovError } from '../../contract/problems.ts';
import type { TreeName } from '../port/store.ts';

export const altered = (tree: TreeName, index: number, what: string): GovError =>
  new GovError(
    'STORAGE_FAULT',
    `leaf ${index} of the ${tree} log ${what}; run gov log fsck --deep, and restore what it names from a backup`,
    { extensions: { tree, index } },
  );

/** Whether an error says that a stored leaf is not what was logged. */
export const isAltered = (error: unknown): error is GovError =>
  error instanceof GovError &&
  error.code === 'STORAGE_FAULT' &&
  typeof error.extensions['index'] === 'number';
