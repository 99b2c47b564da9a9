/**
 * `fsck`: recomputes the base totals of a project's months from its metering leaves.
 * Proven by `test/store/fsck/tamper-tenants.test.ts`.
 */
import { canonicalize } from '../../../core/json/parse.ts';
import type { MeterLeaf, Totals } from '../../../core/planes/metering.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import { baseOf } from '../../append/period.ts';
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

/** Reads rows and leaves in parallel, one row at a time. */
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
    report(month, 'no row, because nothing was metered in this month', base);
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

/** The position of the month in a record, from 1. A record starts with its time. */
const monthStart = '{"at":"'.length + 1;

/** Whether a leaf beyond the checked size started a month, because an append came during the check. */
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
