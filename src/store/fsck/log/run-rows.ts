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
  /** The events before it name no AI system. */
  readonly isUnnamed: boolean;
}

/** Returns the value that an event proves; undefined where it proves none. */
type Proof = (event: RunEvent) => string | number | null | undefined;

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
  // the first event that names a system sets it
  aiSystemId: ({ isFirst, isUnnamed, aiSystemId }) => (isFirst || isUnnamed ? aiSystemId : undefined),
};

/** Returns the columns of a run that differ from what its event at index `idx` proves; null where none does. */
export function runFault(
  { serverTimestamp, aiSystemId }: EventRecord,
  idx: number,
  row: RunColumns,
  isUnnamed = false,
): { readonly expected: string; readonly got: string } | null {
  const { names } = runColumns;
  const event = {
    serverTimestamp,
    ...(aiSystemId === undefined ? {} : { aiSystemId }),
    isFirst: row[names.firstIndex] === idx,
    isLast: row[names.lastIndex] === idx,
    isUnnamed,
  };
  const expected: string[] = [];
  const got: string[] = [];
  for (const [member, column] of Object.entries(names)) {
    const stored = row[column];
    const proof = proofs[member as keyof RunState]; // `names` has the members of a run
    if (stored === undefined || typeof proof === 'string') continue;
    const proven = proof(event);
    if (proven === undefined || proven === stored) continue;
    expected.push(`${column} ${proven}`);
    got.push(`${column} ${stored}`);
  }
  return expected.length === 0 ? null : { expected: expected.join(', '), got: got.join(', ') };
}

/** Runs remembered at most, about 20 MB. fsck does not compare the system of further ones. */
const maxUnnamed = 100_000;

/**
 * Remembers the runs of a project that have an AI system, though no event so far names it. Visit the events in index order.
 * A run is forgotten at the event that names its system, so that few are remembered at a time.
 */
export class UnnamedSystems {
  readonly #runs = new Map<string, RunColumns>();
  /** Runs without a system, though an event that was visited names one. */
  readonly #lacking = new Set<string>();

  /**
   * Returns whether this event proves the system: those before it are known to name none, or it is the first visited one
   * that names the system which the run lacks. `isPruned`: events before it may be gone.
   */
  visit({ runId, aiSystemId }: EventRecord, idx: number, row: RunColumns, isPruned = false): boolean {
    const { names } = runColumns;
    if (row[names.aiSystemId] === null) {
      const isFirst = aiSystemId !== undefined && !this.#lacking.has(runId);
      if (isFirst && this.#lacking.size < maxUnnamed) this.#lacking.add(runId);
      return isFirst;
    }
    if (isPruned) return false;
    const isUnnamed = this.#runs.has(runId);
    if (aiSystemId !== undefined) this.#runs.delete(runId);
    else if (row[names.firstIndex] === idx && typeof row[names.aiSystemId] === 'string') {
      if (this.#runs.size < maxUnnamed) this.#runs.set(runId, row);
    }
    return isUnnamed;
  }

  /** Returns the runs whose system no event below `size` names, though all their events are below it. */
  *rest(size: number): Generator<{ readonly runId: string; readonly system: string }> {
    const { names } = runColumns;
    for (const [runId, row] of this.#runs)
      if (Number(row[names.lastIndex]) < size) yield { runId, system: String(row[names.aiSystemId]) };
  }
}
