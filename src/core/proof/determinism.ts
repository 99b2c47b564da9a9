/**
 * The layer `replay_determinism` (docs/reference/proof-format.md): the newest replay of the run's recorded decisions came out as
 * recorded. Replays of graphs and of runs against others say nothing about it. That nothing could be replayed is
 * no success: it passes only where some decision was, or where the run has none, vacuously.
 * Proven by `test/core/proof/determinism.test.ts`.
 */
import type { ReplayRecord } from '../decided/replay.ts';
import { type Snapshot, snapshotFields } from '../decided/snapshot.ts';
import { type LayerResult, verdictOf } from './statement.ts';

/** How a replay stands to the run at the tree size of the proof. */
export interface ReplayFacts {
  /** The newest replay of kind `decisions`, and the index of its leaf. */
  readonly index: number;
  readonly replay: ReplayRecord;
  /** The snapshot of the run and the index of its leaf, null where it has none. */
  readonly snapshot: { readonly index: number; readonly snapshot: Snapshot } | null;
  /** Events and decisions of the run that were recorded after what the replay covers. */
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
