/**
 * The leaf of a replay, `gov.replay/1` (docs/proofs.md): how many steps were compared, which did not match,
 * and against which snapshot. Proven by `test/core/decided/replayed.test.ts`.
 */
import { draftLeaf, type OtherDraft } from '../record.ts';
import type { ListCommitment, OpenLeaf } from './leaf.ts';
import type { Snapshot } from './snapshot.ts';

export interface ReplayRecord {
  readonly replayId: string;
  readonly runId: string;
  /** What was compared: the recorded decisions, the declared graph, or another run's steps. */
  readonly kind: 'decisions' | 'graph' | 'run';
  /** Events of the run that it covers: those with a smaller index than this. */
  readonly treeSize: number;
  readonly steps: number;
  /** Steps whose status is not match, of {index, eventId, status}. */
  readonly mismatches: ListCommitment;
  /** Drift diagnostics, of {field, expected, actual, severity}. */
  readonly drift: ListCommitment;
  readonly at: string;
  /** The snapshot that the replay was asked to hold the run to; null where none was given. */
  readonly snapshot: Snapshot | null;
}

export function draftReplay(replay: ReplayRecord, salt: () => string): OtherDraft {
  const { runId, snapshot, ...fields } = replay;
  return draftLeaf(
    'gov.replay/1',
    { ...fields },
    { runId, id: replay.replayId, committed: [['/snapshot', snapshot]], salt },
  );
}

export function openReplay({ clear, committed }: OpenLeaf): ReplayRecord {
  const { replayId, runId, kind, treeSize, steps, mismatches, drift, at } = clear as unknown as ReplayRecord;
  const snapshot = (committed.get('snapshot') ?? null) as Snapshot | null;
  return { replayId, runId, kind, treeSize, steps, mismatches, drift, at, snapshot };
}
