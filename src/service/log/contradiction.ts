/**
 * The errors for stored rows that contradict the log. The service neither returns such a row nor decides
 * with it. Proven by `test/service/approvals/handlers.engines.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { Leaf } from '../../store/port/store.ts';

/** STORAGE_FAULT about one row: others are good. */
export class Contradiction extends GovError {}

/** STORAGE_FAULT: `what` differs from the leaf, or, where `leaf` is null, the log has no leaf for it. */
export function contradiction(what: string, leaf: Pick<Leaf, 'index'> | null): Contradiction {
  const found =
    leaf === null ? 'is missing from the audit log' : `differs from leaf ${leaf.index} of the audit log`;
  const detail = `${what} ${found}; run gov log fsck --deep, and restore what it names from a backup`;
  const extensions = leaf === null ? {} : { tree: 'audit', index: leaf.index };
  return new Contradiction('STORAGE_FAULT', detail, { extensions });
}

/** STORAGE_FAULT: the store lacks a leaf that the log contains. */
export const missingLeaf = (index: number): GovError =>
  new GovError('STORAGE_FAULT', `expected leaf ${index} of the audit log, got none; run gov log fsck`);
