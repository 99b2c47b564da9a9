/**
 * The layer `replay_determinism` (`docs/reference/proof-format.md`): the newest replay of the run reproduced its recorded decisions.
 * Graph replays and comparisons with other runs do not count. The layer fails if no decision could be replayed, and
 * passes vacuously if the run has no decisions.
 * Proven by `test/core/proofs/determinism.test.ts`.
 */
import type { ReplayRecord } from '../decided/replay.ts';
import { type Snapshot, snapshotFields } from '../decided/snapshot.ts';
import { type LayerResult, verdictOf } from './statement.ts';

/** The newest replay, and the state of the run at the tree size of the proof. */
export interface ReplayFacts {
  /** Leaf index of the newest replay of kind `decisions`. */
  readonly index: number;
  readonly replay: ReplayRecord;
  /** The snapshot of the run and the index of its leaf, null if the run has no snapshot. */
  readonly snapshot: { readonly index: number; readonly snapshot: Snapshot } | null;
  /** Number of events and decisions of the run that were recorded after the replay. */
  readonly recordedSince: number;
}

export function replayDeterminism({ index, replay, snapshot, recordedSince }: ReplayFacts): LayerResult {
  const { replayId, treeSize, steps, replayed, notReplayable, mismatches } = replay;
  const vacuous = replayed === 0 && notReplayable === 0;
  const checks = [
    { id: 'snapshot_matches_run', pass: isSame(replay.snapshot, snapshot?.snapshot ?? null) },
    { id: 'zero_mismatches', pass: mismatches.n === 0 },
    { id: 'some_decision_replayed', pass: replayed > 0 || vacuous },
    { id: 'covers_run', pass: recordedSince === 0 },
  ];
  return {
    layer: 'replay_determinism',
    claims: {
      ...(vacuous ? { code: 'NO_DECISION_REPLAYED' } : {}),
      vacuous,
      replayId,
      replayIndex: index,
      treeSize,
      steps,
      replayed,
      notReplayable,
      mismatches: { ...mismatches },
      snapshotIndex: snapshot?.index ?? null,
      recordedSince,
    },
    checks,
    verdict: verdictOf(checks),
  };
}

const isSame = (one: Snapshot | null, other: Snapshot | null): boolean =>
  one === null || other === null
    ? one === other
    : snapshotFields.every((field) => one[field] === other[field]);
