/**
 * `fsck`: compares the row of a run with what one of its events says. `runs.ts` recomputes the other columns from the
 * rows of all events.
 * Proven by `test/store/fsck/tamper.test.ts`.
 */
import type { EventRecord } from '../../../core/events/record.ts';
import { parseTimestamp } from '../../../core/time.ts';
import type { RunState } from '../../append/ledger.ts';
import { runColumns } from '../../append/run-row.ts';

/** The row of a run by name of its column. A database of an older release lacks newer columns. */
export type RunColumns = Readonly<Record<string, string | number | null>>;

interface RunEvent extends Pick<EventRecord, 'serverTimestamp' | 'aiSystemId'> {
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** Returns the value that an event proves; undefined where it proves none. `stored`: the value of the row. */
type Proof = (event: RunEvent, stored: string | number | null) => string | number | null | undefined;

/** A new column of a run says here which event proves it, or what else compares it. */
const proofs: { readonly [Member in keyof RunState]: Proof | 'events name it' | 'recomputed in runs.ts' } = {
  no: 'events name it',
  runId: 'events name it',
  events: 'recomputed in runs.ts',
  firstIndex: 'recomputed in runs.ts',
  lastIndex: 'recomputed in runs.ts',
  firstMs: 'recomputed in runs.ts',
  lastMs: 'recomputed in runs.ts',
  lastServerMs: ({ isLast, serverTimestamp }) => (isLast ? parseTimestamp(serverTimestamp) : undefined),
  // The first event that names a system sets it. To know that event, fsck would have to remember every run.
  aiSystemId: ({ isFirst, aiSystemId }, stored) => (isFirst || stored === null ? aiSystemId : undefined),
};

/** Returns the columns of a run that differ from what its event at index `idx` proves; null where none does. */
export function runFault(
  { serverTimestamp, aiSystemId }: EventRecord,
  idx: number,
  row: RunColumns,
): { readonly expected: string; readonly got: string } | null {
  const { names } = runColumns;
  const event = {
    serverTimestamp,
    ...(aiSystemId === undefined ? {} : { aiSystemId }),
    isFirst: row[names.firstIndex] === idx,
    isLast: row[names.lastIndex] === idx,
  };
  const expected: string[] = [];
  const got: string[] = [];
  for (const [member, column] of Object.entries(names)) {
    const stored = row[column];
    const proof = proofs[member as keyof RunState]; // `names` has the members of a run
    if (stored === undefined || typeof proof === 'string') continue;
    const proven = proof(event, stored);
    if (proven === undefined || proven === stored) continue;
    expected.push(`${column} ${proven}`);
    got.push(`${column} ${stored}`);
  }
  return expected.length === 0 ? null : { expected: expected.join(', '), got: got.join(', ') };
}
