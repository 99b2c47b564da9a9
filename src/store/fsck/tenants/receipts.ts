/**
 * `fsck`: checks the service's cosignatures of reported heads (C2SP tlog-cosignature), if `deep`.
 * Each is by the installation's own key, with the time at which the report arrived. A report has one if all
 * earlier reports were stored and linked when it arrived. A report that arrived early, or while another was
 * missing, has none. The events of gaps name the reports that may lack one.
 * Proven by `test/host/data/tamper-receipts.long.test.ts` and `test/service/planes/fsck.test.ts`.
 */
import type { UsageReport } from '../../../contract/telemetry.ts';
import { GovError } from '../../../contract/problems.ts';
import { splitNote } from '../../../core/note/signed.ts';
import type { Check } from '../check.ts';
import type { ReportRow } from '../../rules/plane-row.ts';
import type { Gap } from './gaps.ts';

type Judge = NonNullable<Check['judgeReceipt']>;

/** The state of an epoch under check. */
interface EpochCheck {
  readonly epoch: number;
  /** The last report such that it and all earlier ones are stored and linked. */
  whole: number;
  /** The last report with a cosignature. */
  cosigned: number;
  /** Null until the first use. */
  gaps: readonly Gap[] | null;
}

/**
 * The result is called with each report of a plane, by epoch and sequence. `gapsOf`: the recorded gaps of an
 * epoch.
 */
export function receiptCheck(
  check: Check,
  gapsOf: (epoch: number) => readonly Gap[],
): (at: string, row: ReportRow, report: UsageReport) => void {
  let seen: EpochCheck = { epoch: -1, whole: 0, cosigned: 0, gaps: null };
  return (at, row, { log }) => {
    const { epoch, sequence, link, cosignature } = row;
    if (seen.epoch !== epoch) seen = { epoch, whole: 0, cosigned: 0, gaps: null };
    if (sequence === seen.whole + 1 && link === 'linked') seen.whole = sequence;
    if (!check.deep) return;
    if (cosignature === '') {
      if (check.judgeReceipt === undefined || seen.whole !== sequence) return;
      seen.gaps ??= gapsOf(epoch);
      if (!wasGiven(sequence, seen.cosigned, seen.gaps)) return;
      const expected = 'a cosignature, because the service had all earlier reports';
      return check.problem(at, 'receipt_mismatch', { expected, got: 'none' });
    }
    seen.cosigned = sequence;
    if (seen.whole !== sequence) {
      const expected = 'no cosignature, because earlier reports are missing or not linked';
      check.problem(at, 'receipt_mismatch', { expected, got: 'one' });
    }
    const got = check.judgeReceipt === undefined ? null : faultOf(check.judgeReceipt, row, log.checkpoint);
    if (got !== null)
      check.problem(at, 'receipt_mismatch', { expected: 'the cosignature of the service', got });
  };
}

/**
 * Whether the service certainly cosigned a report that is linked like all earlier ones. Reports outside of
 * gaps arrived in order. If no earlier report was ever missing, all were stored. If a report after the last
 * earlier gap has a cosignature, that gap was closed when it arrived. `cosigned`: the last earlier report
 * with a cosignature.
 */
function wasGiven(sequence: number, cosigned: number, gaps: readonly Gap[]): boolean {
  if (sequence === 1) return true;
  const missing = gaps.map(({ firstMissing, before }) =>
    firstMissing > sequence ? 0 : Math.min(before - 1, sequence),
  );
  const last = missing.reduce((most, each) => Math.max(most, each), 0);
  return last === 0 || (last < sequence && cosigned > last);
}

/** Null if the cosignature is the service's, from the second in which the report arrived. */
function faultOf(
  judge: Judge,
  { cosignature, received_ms: receivedMs }: ReportRow,
  note: string,
): string | null {
  let judged: ReturnType<Judge>;
  try {
    judged = judge(`${splitNote(note).text}\n${cosignature}`);
  } catch (error) {
    if (error instanceof GovError) return error.message;
    throw error;
  }
  if (typeof judged === 'string') return judged;
  const cameAt = Math.floor(receivedMs / 1000);
  return judged === cameAt ? null : `one of ${judged} s, for a report received at ${cameAt} s`;
}
