/** A row that is not what the log says: it is not answered, and decides nothing. */
import { GovError } from '../../contract/problems.ts';
import type { Leaf } from '../../store/port/store.ts';

/** STORAGE_FAULT: `what` is not as the leaf has it; null where no leaf has it. */
export function contradiction(what: string, leaf: Pick<Leaf, 'index'> | null): GovError {
  const found =
    leaf === null ? 'is nowhere in the audit log' : `is not as leaf ${leaf.index} of the audit log says`;
  const detail = `${what} ${found}; run gov log fsck --deep, and restore what it names from a backup`;
  const extensions = leaf === null ? {} : { tree: 'audit', index: leaf.index };
  return new GovError('STORAGE_FAULT', detail, { extensions });
}
