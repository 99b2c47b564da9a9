/**
 * The leaf of a replay, `gov.replay/1` (docs/reference/proof-format.md): how many steps were compared, how many of them were
 * decisions that were made again, which did not match, and against which snapshot; and the result. Proven by `test/core/proof/determinism.test.ts`.
 */
import type { Json } from '../json/parse.ts';
import { draftLeaf, type OtherDraft } from '../event/record.ts';
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
  /** Of the steps: evaluations and risk decisions that were made again, and steps that could not be. */
  readonly replayed: number;
  readonly notReplayable: number;
  /** Steps that diverged, of {index, eventId, status}: mismatch, missing or extra. */
  readonly mismatches: ListCommitment;
  /** How many warnings were answered; how many drift diagnostics there were, answered or not. */
  readonly warnings: number;
  readonly driftCount: number;
  readonly at: string;
  /** The snapshot that the run was held to: the one given, else its own; null where there is neither. */
  readonly snapshot: Snapshot | null;
  /**
   * The drift diagnostics that were answered, of {field, expected, actual, severity}: committed with a salt, as
   * they show values of payloads. Null once that was erased.
   */
  readonly drift: ListCommitment | null;
  /** SHA-256 of the whole result as it is stored and answered: committed with a salt, as above. */
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
