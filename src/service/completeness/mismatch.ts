/**
 * The error for tables that differ from the map of the log. It names a leaf, so the health of the process shows it.
 * Proven by `test/service/completeness/attack.engines.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';

export function indexMismatch(what: string, index: number): GovError {
  const detail =
    `index_mismatch: ${what} differs from the audit log, as of leaf ${index}; ` +
    'run gov log fsck --deep, and restore what it names from a backup';
  return new GovError('STORAGE_FAULT', detail, { extensions: { tree: 'audit', index } });
}
