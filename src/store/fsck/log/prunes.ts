/**
 * `fsck`: checks prunings: each row has its gov.prune/1 leaf, and each leaf its row.
 * Events may be missing only below the index of such a row. Proven by
 * `test/store/fsck/tamper-pruned.test.ts`.
 */
import { readPrune } from '../../../core/decided/prune.ts';
import { hashText } from '../../../core/hash.ts';
import type { JsonObject } from '../../../core/json/parse.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import type { RecordCheck } from '../record.ts';
import type { Value } from '../../file/connection.ts';
import { positionOf } from '../../file/position.ts';

interface PruneRow {
  readonly leaf_index: number;
  readonly min_index: number;
  readonly root: Buffer;
}

export interface PrunedLog {
  /** Events below this index may be missing. It is the largest index that a leaf confirms. */
  readonly below: number;
  /** Roots that the tree must have at these sizes, ascending. */
  readonly roots: readonly { readonly size: number; readonly root: Buffer; readonly position: string }[];
}

/** The rows that their leaves confirm. Reports the others. */
export function prunedOf(check: Check, { no, projectId, auditSize }: CheckedProject): PrunedLog {
  const record = check.db.prepare<Value[], string>('SELECT record FROM leaf WHERE position = ?').pluck();
  const rows = check.db
    .prepare<Value[], PruneRow>(
      'SELECT leaf_index, min_index, root FROM prune WHERE project = ? AND leaf_index < ? ORDER BY min_index',
    )
    .all(no, auditSize);
  const roots: { size: number; root: Buffer; position: string }[] = [];
  for (const { leaf_index: leaf, min_index: size, root } of rows) {
    const position = `${projectId}/prune/${leaf}`;
    const said = readPrune(record.get(positionOf(no, leaf)) ?? '');
    if (said?.minIndex === size && said.rootAtMinIndex === hashText(root) && size <= leaf) {
      roots.push({ size, root, position });
      continue;
    }
    const expected = `a gov.prune/1 leaf at ${leaf} of ${size} leaves with root ${hashText(root)}`;
    check.problem(position, 'prune_mismatch', { expected, got: said === null ? 'none' : 'another one' });
  }
  return { below: roots.at(-1)?.size ?? 0, roots };
}

/** Checks that each gov.prune/1 leaf has its row. */
export function pruneCheck({ db, problem }: Check, { no, projectId }: CheckedProject): RecordCheck {
  const find = db.prepare<Value[], PruneRow>(
    'SELECT leaf_index, min_index, root FROM prune WHERE project = ? AND leaf_index = ?',
  );
  const visit = (index: number, { type, minIndex, rootAtMinIndex }: JsonObject): void => {
    if (type !== 'gov.prune/1') return;
    const row = find.get(no, index);
    if (row?.min_index === minIndex && row !== undefined && hashText(row.root) === rootAtMinIndex) return;
    const what = {
      expected: `a row of a pruning below ${String(minIndex)}`,
      got: row === undefined ? 'none' : 'another one',
    };
    problem(`${projectId}/audit/${index}`, 'prune_mismatch', what);
  };
  return { visit, finish: () => {} };
}
