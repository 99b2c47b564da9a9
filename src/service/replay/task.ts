/**
 * Task: replays a run at the current size of the log (contract F10-F16; docs/how-to/replay-a-run.md). Without side effects
 * and without models: it compares recorded values with values that are computed again. Proven by
 * `test/service/replay/handlers.engines.test.ts`.
 */
import type { GraphReplayRequest, ReplayRequest, ReplayResult } from '../../contract/replay.ts';
import { listCommitment } from '../../core/decided/leaf.ts';
import type { ReplayRecord } from '../../core/decided/replay.ts';
import type { Snapshot } from '../../core/decided/snapshot.ts';
import { sha256Text } from '../../core/hash.ts';
import { readJson } from '../../core/json/parse.ts';
import { ReplayCollector } from '../../core/replay/collector.ts';
import { formatTimestamp } from '../../core/time.ts';
import { replayDecisions } from './decisions.ts';
import { replayGraph } from './graph.ts';
import { replayAgainst } from './runs.ts';
import type { ReplayedRun, ReplayInput, Task, TaskContext } from '../call/work.ts';

export const replay: Task<'replay'> = async (context, input) => {
  const { projectId, runId, replayId, createdMs } = input;
  const { size: treeSize } = await context.reader.head(projectId, 'audit');
  const collector = new ReplayCollector();
  const createdAt = formatTimestamp(createdMs);
  const run = { projectId, runId, treeSize, at: createdAt };
  const { kind, snapshot, declaration, altered } = await replayed(context, run, { input, collector });
  const report = collector.finish();
  const { warnings, summary, driftCount, replayed: again, mismatches } = report;
  const driftDiagnostics = report.driftDiagnostics.map((each) => ({ ...each }));
  const result: ReplayResult = {
    replayId,
    runId,
    steps: [...report.steps],
    warnings: [...warnings],
    driftDiagnostics,
    createdAt,
    summary,
    ...(report.truncated ? { truncated: true } : {}),
  };
  const text = JSON.stringify(result);
  const record: Omit<ReplayRecord, 'at'> = {
    replayId,
    runId,
    kind,
    treeSize,
    steps: summary.steps,
    replayed: again,
    notReplayable: summary.notReplayable,
    mismatches,
    warnings: warnings.length,
    driftCount,
    snapshot,
    drift: listCommitment(driftDiagnostics),
    result: sha256Text(text),
  };
  const counts = { steps: summary.steps, warnings: warnings.length, drift: driftCount };
  return { record, result: text, summary: JSON.stringify(counts), declaration, altered };
};

interface Outcome extends Pick<ReplayedRun, 'declaration' | 'altered'> {
  readonly kind: ReplayRecord['kind'];
  readonly snapshot: Snapshot | null;
}

async function replayed(
  context: TaskContext,
  run: Parameters<typeof replayDecisions>[1],
  { input, collector }: { input: ReplayInput; collector: ReplayCollector },
): Promise<Outcome> {
  const none = { declaration: null, altered: [] };
  // the operation that accepted it checked and stored it
  const request = readJson(input.request) as unknown as ReplayRequest | GraphReplayRequest;
  if ('nodes' in request) {
    const declaration = await replayGraph(context, run, { request, collector, salt: input.salt });
    return { ...none, kind: 'graph', snapshot: null, declaration };
  }
  const { compareRunId, replaySnapshot: given = null } = request;
  if (compareRunId !== undefined) {
    const snapshot = await replayAgainst(context, run, { compareRunId, given, collector });
    return { ...none, kind: 'run', snapshot };
  }
  return { ...none, kind: 'decisions', ...(await replayDecisions(context, run, { given, collector })) };
}
