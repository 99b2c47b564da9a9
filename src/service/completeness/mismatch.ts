/**
 * The error for tables that differ from the map of the log. It names a leaf, so the health of the process shows it.
 * Proven by `test/service/completeness/attack.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { prunedBelow } from '../events/run-stream.ts';

const code = 'index_mismatch: ';

/** Whether an error says that a single stored leaf is altered or pruned, so that no map can be derived from the leaves. */
export const isLeafLost = (error: unknown): boolean =>
  error instanceof GovError &&
  (prunedBelow(error) !== null ||
    (typeof error.extensions['index'] === 'number' && !error.message.startsWith(code)));

export function indexMismatch(what: string, index: number): GovError {
  const detail =
    `${code}${what} differs from the audit log, as of leaf ${index}; ` +
    'run gov log fsck --deep; gov log index build makes a saved map again, and a backup has the rest';
  return new GovError('STORAGE_FAULT', detail, { extensions: { tree: 'audit', index } });
}
