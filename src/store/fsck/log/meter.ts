/**
 * `fsck`: checks metering leaves: consecutive totals, each audit leaf covered exactly once, and months.
 * Proven by `test/store/fsck/tamper.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import {
  addUnits,
  meterNonceBytes,
  meterRef,
  parseMeterRecord,
  zeroTotals,
  type MeterLeaf,
  type Totals,
} from '../../../core/planes/metering.ts';
import { canonicalize } from '../../../core/json/parse.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import type { FsckKind } from '../check.ts';
import type { MeterRow } from './meter-row.ts';
import { periodCheck } from './periods.ts';
import { leafHashReader } from '../../file/tiles.ts';

export interface MeterCheck {
  /** Called with each metering leaf in index order. */
  visit(row: MeterRow): void;
  finish(): void;
}

export function meterCheck(check: Check, project: CheckedProject): MeterCheck {
  const hashes = leafHashReader(check.db);
  const periods = periodCheck(check, project);
  let totals: Totals = zeroTotals;
  let covered = 0;
  return {
    visit: ({ idx, record, firstIndex, leafCount, nonce }) => {
      const problem = (kind: FsckKind, expected: string, got: string): void =>
        check.problem(`${project.projectId}/metering/${idx}`, kind, { expected, got });
      const leaf = parseMeterRecord(record);
      if (leaf === null) return problem('record_malformed', 'a metering leaf', record.slice(0, 64));
      const after = raised(totals, leaf);
      if (after === null || canonicalize(after) !== canonicalize(leaf.totals)) {
        const expected = `${leaf.units} ${leaf.op} more than ${canonicalize(totals)}`;
        problem('meter_totals', expected, canonicalize(leaf.totals));
      }
      periods.visit(leaf, totals);
      totals = leaf.totals;
      if (firstIndex !== covered)
        problem('meter_coverage', `audit leaves from ${covered}`, `from ${firstIndex}`);
      covered = firstIndex + leafCount;
      if (!check.deep || covered > project.auditSize) return;
      const ref = refOf({ firstIndex, leafCount, nonce }, (indexes) => hashes(project.no, 'audit', indexes));
      if (ref !== leaf.ref)
        problem(
          'meter_ref',
          ref ?? `a nonce of ${meterNonceBytes} bytes, and the hashes of the leaves it covers`,
          leaf.ref,
        );
    },
    finish: () => {
      periods.finish();
      if (covered === project.auditSize) return;
      const expected = `audit leaves up to ${project.auditSize} covered`;
      const position = `${project.projectId}/metering/${project.meteringSize}`;
      check.problem(position, 'meter_coverage', { expected, got: `up to ${covered}` });
    },
  };
}

/**
 * Null if a hash is missing or the row cannot be one of a metering leaf. The covered leaves are within the
 * size of the audit log.
 */
function refOf(
  { firstIndex, leafCount, nonce }: Pick<MeterRow, 'firstIndex' | 'leafCount' | 'nonce'>,
  read: (indexes: readonly number[]) => Buffer[],
): string | null {
  if (nonce.length !== meterNonceBytes || firstIndex < 0 || leafCount < 0) return null;
  try {
    return meterRef(nonce, firstIndex, read(Array.from({ length: leafCount }, (_, at) => firstIndex + at)));
  } catch (error) {
    if (error instanceof GovError) return null;
    throw error;
  }
}

function raised(totals: Totals, { op, units }: MeterLeaf): Totals | null {
  try {
    return addUnits(totals, op, units);
  } catch {
    return null;
  }
}
