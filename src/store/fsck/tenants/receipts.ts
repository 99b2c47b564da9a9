/**
 * `fsck`: the service's cosignatures under heads that data planes reported, when deep. Each is by the installation's own
 * key, of the time at which the report came; and only where every report before is held and follows from the one before
 * it, which stays so. A report has one where all before it were held and linked when it came: what came too early, or
 * while another one was missing, has none. Which those may be, the events say that tell of gaps. Proven by `test/host/data/tamper-receipts.long.test.ts` and `test/service/planes/fsck.test.ts`.
 */
import type { UsageReport } from '../../../contract/telemetry.ts';
import { GovError } from '../../../contract/problems.ts';
import { splitNote } from '../../../core/note/signed.ts';
import type { Check } from '../run.ts';
import type { ReportRow } from '../../rules/plane-row.ts';
import type { Gap } from './gaps.ts';

type Judge = NonNullable<Check['judgeReceipt']>;

/** What was seen of an epoch. */
interface Seen {
  readonly epoch: number;
  /** The last report up to which every one is held and linked. */
  whole: number;
  /** The last report that has a cosignature. */
  cosigned: number;
  /** Null until somebody asks. */
  gaps: readonly Gap[] | null;
}

/** Told of each report of a plane, by epoch and sequence. `gapsOf`: those that were told of an epoch. */
export function receiptCheck(
  check: Check,
  gapsOf: (epoch: number) => readonly Gap[],
): (at: string, row: ReportRow, report: UsageReport) => void {
  let seen: Seen = { epoch: -1, whole: 0, cosigned: 0, gaps: null };
  return (at, row, { log }) => {
    const { epoch, sequence, link, cosignature } = row;
    if (seen.epoch !== epoch) seen = { epoch, whole: 0, cosigned: 0, gaps: null };
    if (sequence === seen.whole + 1 && link === 'linked') seen.whole = sequence;
    if (!check.deep) return;
    if (cosignature === '') {
      if (check.judgeReceipt === undefined || seen.whole !== sequence) return;
      seen.gaps ??= gapsOf(epoch);
      if (!wasGiven(sequence, seen.cosigned, seen.gaps)) return;
      const expected = 'the cosignature that the service gave: all reports before were held';
      return check.problem(at, 'receipt_mismatch', { expected, got: 'none' });
    }
    seen.cosigned = sequence;
    if (seen.whole !== sequence) {
      const expected = 'no cosignature where reports before are missing or do not follow';
      check.problem(at, 'receipt_mismatch', { expected, got: 'one' });
    }
    const got = check.judgeReceipt === undefined ? null : faultOf(check.judgeReceipt, row, log.checkpoint);
    if (got !== null)
      check.problem(at, 'receipt_mismatch', { expected: 'the cosignature that the service gave', got });
  };
}

/**
 * Whether a report that is linked, as all before it, was cosigned for sure. Those outside of gaps came in their order. So
 * where none was missing before it, all before it were there; and where one behind the last gap before it is cosigned, that
 * gap was closed by then. `cosigned`: the last one before it that has a cosignature.
 */
function wasGiven(sequence: number, cosigned: number, gaps: readonly Gap[]): boolean {
  if (sequence === 1) return true;
  const missing = gaps.map(({ firstMissing, before }) =>
    firstMissing > sequence ? 0 : Math.min(before - 1, sequence),
  );
  const last = missing.reduce((most, each) => Math.max(most, each), 0);
  return last === 0 || (last < sequence && cosigned > last);
}

/** Null where it is the service's, of the second in which the report came. */
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
  return judged === cameAt ? null : `one of ${judged} s, under a report that came at ${cameAt} s`;
}
