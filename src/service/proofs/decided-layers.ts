/**
 * Computes the layers about decisions from the leaves below a tree size, a few at a time:
 * `decision_lineage`, `replay_determinism`. `compliance-pass.ts` has `policy_compliance`. Later leaves and changes have no
 * effect, so a recomputed layer has the same text. Proven by `test/service/proofs/compliance.engines.test.ts`.
 */
import { openReplay, type ReplayRecord } from '../../core/decided/replay.ts';
import { openRiskDecision } from '../../core/decided/risk-decision.ts';
import { openSnapshot } from '../../core/decided/snapshot.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { DecisionLineage } from '../../core/proofs/decision-lineage.ts';
import { replayDeterminism } from '../../core/proofs/determinism.ts';
import { replayNotRun } from '../../core/proofs/layers.ts';
import type { LayerResult } from '../../core/proofs/statement.ts';
import type { Leaf } from '../../store/port/store.ts';
import { LoggedConfigs } from './logged-configs.ts';
import { chunkLeaves, decidedLeaves, type RunAt } from './decided-leaves.ts';
import type { TaskContext } from '../call/work.ts';

/** Cost: 30 µs for each decision. */
export async function decisionLineage(context: TaskContext, run: RunAt): Promise<LayerResult> {
  const lineage = new DecisionLineage();
  const configs = new LoggedConfigs(context, run, run.treeSize);
  const range = { type: 'gov.decision/1', beforeIndex: run.treeSize } as const;
  for await (const leaf of decidedLeaves(context, run, range))
    lineage.add(leaf.index, openRiskDecision(leaf), await configs.at(leaf.index));
  return lineage.finish();
}

/** Does not run where no replay below the tree size covers a decision of the run. */
export async function replayedDecisions(context: TaskContext, run: RunAt): Promise<LayerResult> {
  const { projectId, runId, treeSize } = run;
  const newest = await newestReplay(context, run);
  if (newest === null) return replayNotRun();
  const { index, replay } = newest;
  const filter = { type: 'gov.snapshot/1', runId, beforeIndex: treeSize } as const;
  const [leaf] = await context.reader.leavesOf(projectId, filter, { limit: 1, order: 'asc' });
  const snapshot = leaf === undefined ? null : { index: leaf.index, snapshot: openSnapshot(openLeaf(leaf)) };
  return replayDeterminism({
    index,
    replay,
    snapshot,
    recordedSince: await recordedSince(context, run, replay),
  });
}

async function newestReplay(
  { reader, breathe }: TaskContext,
  { projectId, runId, treeSize }: RunAt,
): Promise<{ index: number; replay: ReplayRecord } | null> {
  const filter = { type: 'gov.replay/1', runId, beforeIndex: treeSize } as const;
  let after: number | undefined;
  for (;;) {
    const page = { ...(after === undefined ? {} : { after }), limit: chunkLeaves, order: 'desc' } as const;
    const leaves: Leaf[] = await reader.leavesOf(projectId, filter, page);
    for (const leaf of leaves) {
      const replay = openReplay(openLeaf(leaf));
      if (replay.kind === 'decisions') return { index: leaf.index, replay };
    }
    if (leaves.length < chunkLeaves) return null;
    after = leaves.at(-1)?.index;
    await breathe();
  }
}

/** Counts events and decisions of the run between the end of a replay and the tree size. */
async function recordedSince(
  context: TaskContext,
  run: RunAt,
  { treeSize: covered }: ReplayRecord,
): Promise<number> {
  const { projectId, runId, treeSize } = run;
  const below = (index: number) => context.reader.runEventsBelow(projectId, runId, index);
  let count = (await below(treeSize)) - (await below(Math.min(covered, treeSize)));
  for (const type of ['gov.evaluation/1', 'gov.decision/1'] as const) {
    const range = { type, beforeIndex: treeSize, after: covered - 1 };
    for await (const _ of decidedLeaves(context, run, range)) count++;
  }
  return count;
}
