/**
 * Computes the layers about decisions from the leaves below a tree size, a few at a time:
 * `policy_compliance`, `decision_lineage`, `replay_determinism`. Later leaves and changes have no effect, so
 * a recomputed layer has the same text. Proven by `test/service/proofs/compliance.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { governedEventType, PolicyCompliance, type GovernedEvent } from '../../core/proofs/compliance.ts';
import { joinOf } from '../../core/coverage/join.ts';
import { governs, sourceOf } from '../../core/coverage/report.ts';
import { openApproval, openUse } from '../../core/decided/approval.ts';
import {
  evaluatedCall,
  openEvaluation,
  type Evaluation,
  type OpenEvaluation,
} from '../../core/decided/evaluation.ts';
import { openLeaf, type OpenLeaf } from '../../core/decided/leaf.ts';
import { openReplay, type ReplayRecord } from '../../core/decided/replay.ts';
import { openRiskDecision } from '../../core/decided/risk-decision.ts';
import { openSnapshot } from '../../core/decided/snapshot.ts';
import { DecisionLineage } from '../../core/proofs/decision-lineage.ts';
import { replayDeterminism } from '../../core/proofs/determinism.ts';
import type { Disclosure } from '../../core/events/disclosure.ts';
import { canonicalize, readJson, type Json, type JsonObject } from '../../core/json/parse.ts';
import { noPolicyActive, replayNotRun } from '../../core/proofs/layers.ts';
import { rebuild } from '../../core/events/record.ts';
import { recomputes } from '../../core/replay/again.ts';
import type { LayerResult } from '../../core/proofs/statement.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { IndexedLeaf } from '../../store/port/store.ts';
import type { Leaf } from '../../store/port/store.ts';
import { loggedApprovers } from '../approvers/logged.ts';
import { LoggedConfigs } from './logged-configs.ts';
import { LoggedPolicies, type LoggedSet } from '../in-force/logged.ts';
import { runEvents } from '../events/run-stream.ts';
import type { RunOf, TaskContext } from '../call/work.ts';

/** A run at a tree size. */
export interface RunAt extends RunOf {
  readonly treeSize: number;
}

/** Leaves read at once. One can be twice `limits.checkpointBytes` large. */
const chunkLeaves = 20;

/** The leaves of one type of the run with an index below `beforeIndex`, in log order. */
export async function* decidedLeaves(
  { reader, breathe }: TaskContext,
  { projectId, runId }: RunOf,
  range: { readonly type: IndexedLeaf; readonly beforeIndex: number; readonly after?: number },
): AsyncGenerator<OpenLeaf, void, undefined> {
  const { type, beforeIndex } = range;
  let { after } = range;
  for (;;) {
    const page = { ...(after === undefined ? {} : { after }), limit: chunkLeaves, order: 'asc' } as const;
    const leaves: Leaf[] = await reader.leavesOf(projectId, { type, runId, beforeIndex }, page);
    for (const leaf of leaves) yield openLeaf(leaf);
    if (leaves.length < chunkLeaves) return;
    after = leaves.at(-1)?.index;
    await breathe();
  }
}

/**
 * Cost: 40 µs for each evaluation, 1 µs for each policy, 10 µs for each event. Next to nothing where the log
 * has no policy.
 */
export async function policyCompliance(
  context: TaskContext,
  run: RunAt & { readonly origin: string },
): Promise<LayerResult> {
  const policies = new LoggedPolicies(context, run, run.treeSize);
  const approvers = await loggedApprovers(context.reader, run.projectId, run.treeSize);
  const compliance = new PolicyCompliance({ origin: run.origin, runId: run.runId, approvers });
  let evaluations = 0;
  const range = { beforeIndex: run.treeSize };
  for await (const leaf of decidedLeaves(context, run, { ...range, type: 'gov.evaluation/1' })) {
    const evaluation = openEvaluation(leaf);
    const inForce = await policies.at(leaf.index);
    const { list, ...told } = evaluation;
    const recomputed = isComplete(inForce) ? recomputes(evaluation, inForce.set) : false;
    compliance.evaluation({
      ...told,
      index: leaf.index,
      decisions: list,
      inForce,
      recomputes: recomputed,
      whole: asksAll(evaluation, inForce),
      call: evaluatedCall(evaluation),
      shownHash: evaluation.asked?.shownHash,
      expiresMs: expiryOf(evaluation),
    });
    evaluations++;
  }
  await policies.advance(run.treeSize);
  const { timeline } = policies;
  if (evaluations === 0 && !timeline.everActive) return noPolicyActive();
  for await (const leaf of decidedLeaves(context, run, { ...range, type: 'gov.approval/1' })) {
    compliance.approval({ ...openApproval(leaf), index: leaf.index });
  }
  for await (const leaf of decidedLeaves(context, run, { ...range, type: 'gov.use/1' })) {
    compliance.use({ ...openUse(leaf), index: leaf.index });
  }
  const events = { fromSeq: 0, ...range };
  for await (const chunk of runEvents(context, run, events)) {
    for (const { index, clear, disclosures } of chunk) {
      if (clear?.eventType === 'event.completed') {
        const join = joinOf({ eventType: clear.eventType, metadata: metadataIn(disclosures) });
        if (join !== null) compliance.joined(join);
      }
      if (clear?.eventType !== governedEventType) continue;
      const serverMs = parseTimestamp(clear.serverTimestamp) ?? Infinity;
      const policyActive = timeline.activeAt(index);
      compliance.governed({ index, policyActive, serverMs, ...toldBy(disclosures) });
    }
  }
  return compliance.finish();
}

/** Whether every version in the set is the logged one. */
const isComplete = ({ set, unknown, policySetHash }: LoggedSet): boolean =>
  unknown.length === 0 && set.policySetHash === policySetHash;

const eventIn = (disclosures: string | null): Map<string, Json> =>
  disclosures === null ? new Map() : rebuild(readJson(disclosures) as unknown as Disclosure[]);

const metadataIn = (disclosures: string | null): JsonObject =>
  objectOf(eventIn(disclosures).get('metadata')) ?? {};

/** The evaluation and tool call that a governed event names. Its writer, a client, controls both. */
function toldBy(
  disclosures: string | null,
): Pick<GovernedEvent, 'evaluationId' | 'call' | 'callId' | 'isReport'> {
  const event = eventIn(disclosures);
  const metadata = objectOf(event.get('metadata'));
  const resource = objectOf(event.get('resource'));
  return {
    evaluationId: textOf(metadata?.['evaluationId']),
    callId: textOf(metadata?.['toolCallId']),
    isReport: !governs(sourceOf(metadata ?? {})),
    call: {
      actor: canonicalOf(event.get('actor')),
      tool: toolTypes.has(resource?.['type']) ? textOf(resource?.['name']) : null,
      argumentsHash: textOf(metadata?.['argumentsHash']),
    },
  };
}

const toolTypes: ReadonlySet<Json | undefined> = new Set(['tool', 'mcp_tool']);
const objectOf = (value: Json | undefined): JsonObject | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
const textOf = (value: Json | undefined): string | null => (typeof value === 'string' ? value : null);
const canonicalOf = (value: Json | undefined): string | null =>
  value === undefined || value === null ? null : canonicalize(value);

/**
 * Whether an evaluation covers every policy in force. False where the policies that it picked were erased.
 */
function asksAll({ picked, policyIds }: OpenEvaluation, { set }: LoggedSet): boolean {
  if (!picked) return true;
  const asked = new Set(policyIds);
  return set.versions().every(({ policyId }) => asked.has(policyId));
}

/** When a decision about a tool call expires (contract M10). Other decisions do not. */
const expiryOf = ({ policySource, evaluatedAt }: Evaluation): number =>
  policySource === 'tool' ? (parseTimestamp(evaluatedAt) ?? 0) + limits.toolDecisionSeconds * 1000 : Infinity;

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
