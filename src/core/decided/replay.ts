/**
 * The leaf of a replay, `gov.replay/1` (`docs/reference/proof-format.md`): numbers of compared steps, repeated decisions and mismatches,
 * the snapshot, and the hash of the result. Proven by `test/core/proofs/determinism.test.ts`.
 */
import type { Json } from '../json/parse.ts';
import { draftLeaf, type OtherDraft } from '../events/record.ts';
import type { ListCommitment, OpenLeaf } from './leaf.ts';
import type { Snapshot } from './snapshot.ts';

export interface ReplayRecord {
  readonly replayId: string;
  readonly runId: string;
  /** The compared objects: recorded decisions, the declared graph, or the steps of another run. */
  readonly kind: 'decisions' | 'graph' | 'run';
  /** The replay covers events of the run with a smaller index. */
  readonly treeSize: number;
  readonly steps: number;
  /** Evaluations and risk decisions that were repeated, and steps that could not be. */
  readonly replayed: number;
  readonly notReplayable: number;
  /** Diverging steps, as {index, eventId, status}: mismatch, missing or extra. */
  readonly mismatches: ListCommitment;
  /** Number of warnings in the result; number of drift diagnostics, also those outside of the result. */
  readonly warnings: number;
  readonly driftCount: number;
  readonly at: string;
  /** The expected snapshot: the given one, else that of the run; null without either. */
  readonly snapshot: Snapshot | null;
  /**
   * The drift diagnostics in the result, as {field, expected, actual, severity}: committed with a salt, because they
   * contain values of payloads. Null if erased.
   */
  readonly drift: ListCommitment | null;
  /** SHA-256 of the whole stored result, committed with a salt. */
  readonly result: string | null;
}

export function draftReplay(replay: ReplayRecord, salt: () => string): OtherDraft {
  const { runId, snapshot, drift, result, ...fields } = replay;
  const committed: [string, Json][] = [
    ['/snapshot', snapshot],
    ['/drift', drift],
    ['/result', result],
  ];
  return draftLeaf('gov.replay/1', { ...fields }, { runId, id: replay.replayId, committed, salt });
}

export function openReplay({ clear, committed }: OpenLeaf): ReplayRecord {
  const record = clear as unknown as Omit<ReplayRecord, 'snapshot' | 'drift' | 'result'>;
  return {
    replayId: record.replayId,
    runId: record.runId,
    kind: record.kind,
    treeSize: record.treeSize,
    steps: record.steps,
    replayed: record.replayed,
    notReplayable: record.notReplayable,
    mismatches: record.mismatches,
    warnings: record.warnings,
    driftCount: record.driftCount,
    at: record.at,
    snapshot: (committed.get('snapshot') ?? null) as Snapshot | null,
    drift: (committed.get('drift') ?? null) as ListCommitment | null,
    result: (committed.get('result') ?? null) as string | null,
  };
}
