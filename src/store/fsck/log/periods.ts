/** `fsck`: the months of a project, whose base totals follow from its metering leaves. */
import { canonicalize } from '../../../core/json/parse.ts';
import type { MeterLeaf, Totals } from '../../../core/plane/metering.ts';
import type { Check, CheckedProject } from '../run.ts';
import { baseOf } from '../../append/quota.ts';
import type { Value } from '../../file/connection.ts';
import { endOf, positionOf } from '../../file/position.ts';

interface PeriodRow {
  readonly month: string;
  readonly base: string;
}

export interface PeriodCheck {
  /** Called with each metering leaf in index order, and the totals before it. */
  visit(leaf: MeterLeaf, before: Totals): void;
  finish(): void;
}

/** Rows and leaves are walked side by side, one row at a time. */
export function periodCheck(
  { db, problem }: Pick<Check, 'db' | 'problem'>,
  project: CheckedProject,
): PeriodCheck {
  const { no, projectId } = project;
  const select = db.prepare<Value[], PeriodRow>(
    'SELECT month, base FROM period WHERE project = ? AND month > ? ORDER BY month LIMIT 1',
  );
  const report = (month: string, expected: string, got: string): void =>
    problem(`${projectId}/period/${month}`, 'period_mismatch', { expected, got });
  const next = (after: string): PeriodRow | undefined => select.get(no, after);
  const unexpected = ({ month, base }: PeriodRow): void =>
    report(month, 'no such month, since nothing was metered in it', base);
  let newest = '';
  let row = next(newest);
  return {
    visit: ({ op, at }, before) => {
      const month = String(at).slice(0, 7);
      if (op === 'none' || month <= newest) return;
      newest = month;
      for (; row !== undefined && row.month < month; row = next(row.month)) unexpected(row);
      const expected = canonicalize(before);
      const got = row?.month === month ? canonical(row.base) : 'none';
      if (got !== expected) report(month, expected, got);
      if (row?.month === month) row = next(month);
    },
    finish: () => {
      const added = addedSince(db, project);
      for (; row !== undefined; row = next(row.month)) if (!added(row.month)) unexpected(row);
    },
  };
}

/** Where the month stands in a record, counted from 1: it begins with its time. */
const monthStart = '{"at":"'.length + 1;

/** Whether a month began with a leaf that was added while the check went on: beyond the size that is checked. */
function addedSince(db: Check['db'], { no, meteringSize }: CheckedProject): (month: string) => boolean {
  const leaf = db.prepare<Value[]>(
    `SELECT 1 FROM meter WHERE position >= ? AND position < ?
       AND substr(record, ${monthStart}, 7) = ? AND instr(record, '"op":"none"') = 0 LIMIT 1`,
  );
  return (month) => leaf.get(positionOf(no, meteringSize), endOf(no), month) !== undefined;
}

function canonical(base: string): string {
  try {
    return canonicalize(baseOf(base));
  } catch {
    return base;
  }
}
