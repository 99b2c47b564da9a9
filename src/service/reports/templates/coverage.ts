/**
 * Tool calls of runs and whether their sources agree (`src/core/coverage/judge.ts`), for several templates. Reads the events of
 * each run, so it stops at `limits.reportCoverageEvents` and says how many runs were left out.
 */
import { limits } from '../../../contract/limits.ts';
import { coverageVerdicts, type CoverageVerdict } from '../../../contract/coverage.ts';
import { alarms } from '../../../core/coverage/judge.ts';
import { RecordingsJudge } from '../../../core/proofs/recordings.ts';
import { coverageOf, detailOf, policyTimes } from '../../coverage/task.ts';
import { prunedBelow } from '../../events/run-stream.ts';
import type { TaskContext } from '../../call/work.ts';
import { RecordingTally } from '../checks/recordings.ts';
import { count } from './period.ts';
import { Rows } from './rows.ts';
import { columns, type ReportSource, type TableSpec } from './source.ts';

export const coverageTable: TableSpec = {
  id: 'tool-calls',
  title: 'Tool calls',
  lists: 'Tool calls of runs; alarms first, each part in order',
  columns: columns({
    leaf: ['Leaf', 'number'],
    runId: 'Run',
    tool: 'Tool',
    verdict: ['Verdict', 'status'],
    decision: ['Decision', 'status'],
    ending: 'Ending',
    sources: 'Reported by',
    detail: 'Detail',
    callId: 'Call',
  }),
};

export interface CoverageTable {
  readonly rows: Rows;
  readonly counts: Record<CoverageVerdict, number>;
  readonly alarms: number;
  /** Ungoverned calls that ran while no policy was in force. */
  readonly withoutPolicy: number;
  /** Log records that sources numbered and that are missing. */
  readonly missing: number;
  readonly runs: number;
  readonly recordings: RecordingTally;
  /** Runs that were not read, because the report would read too much or their events were pruned. */
  readonly leftOut: number;
}

/** `onlyAlarms`: lists no other calls. */
export async function coverageRows(
  source: ReportSource,
  { spec, runIds, onlyAlarms = false }: { spec: TableSpec; runIds: readonly string[]; onlyAlarms?: boolean },
): Promise<CoverageTable> {
  const { projectId, treeSize, reader, breathe } = source;
  // the judge reads only
  const context = { reader, breathe } as TaskContext;
  const rows = new Rows(spec);
  const counts = Object.fromEntries(coverageVerdicts.map((verdict) => [verdict, 0])) as Record<
    CoverageVerdict,
    number
  >;
  const policies = await policyTimes(context, projectId, treeSize);
  const recordings = new RecordingTally();
  let [alarmed, withoutPolicy, missing, events, runs] = [0, 0, 0, 0, 0];
  for (const runId of runIds.slice(0, limits.reportCoverageRuns)) {
    if (events >= limits.reportCoverageEvents) break;
    const also = new RecordingsJudge();
    const judged = await coverageOf(context, { projectId, runId, also, readsLinked: true }, treeSize).catch(
      nullIfPruned,
    );
    if (judged === null) continue;
    recordings.add(runId, also.finish());
    runs += 1;
    events += judged.events;
    for (const { first, last } of judged.gaps) missing += last - first + 1;
    for (const call of judged.calls) {
      const { index, tool, verdict, decision, ending, sources, callId, firstMs } = call;
      const isAlarm = alarms.has(verdict);
      counts[verdict] += 1;
      if (isAlarm) alarmed += 1;
      if (verdict === 'ungoverned' && !policies.activeAtMs(firstMs)) withoutPolicy += 1;
      if (onlyAlarms && !isAlarm) continue;
      const detail = detailOf(call, policies);
      rows.add([index, runId, tool, verdict, decision, ending, sources.join(', '), detail, callId], isAlarm);
    }
  }
  return {
    rows,
    counts,
    alarms: alarmed,
    withoutPolicy,
    missing,
    runs,
    recordings,
    leftOut: runIds.length - runs,
  };
}

/** What the verdicts of calls say, so that a reader can compare them with the counts of tool calls. */
export function alarmText({ counts, alarms: alarmed, withoutPolicy, runs }: CoverageTable): string {
  const calls = callsOf(counts);
  const unruled = withoutPolicy === 0 ? '' : ` (${withoutPolicy} while no policy was in force)`;
  const kinds = `${counts.ungoverned} ran without a decision${unruled}, ${counts.denied_but_ran} ran after a denial, ${counts.mismatch} ran in place of the decided one, ${counts.gap} lack a source`;
  return `${alarmed} of ${count(calls, 'call')} of ${count(runs, 'run')} raised an alarm: ${kinds}.`;
}

/** What coverage could not look at, and calls that may have run without a decision; null where it saw all. */
export function unseenText({ counts, leftOut, missing }: CoverageTable): string | null {
  const unsure = counts.unknown;
  const said = [
    ...(unsure === 0 ? [] : [`${count(unsure, 'call has', 'calls have')} no decision, and may have run.`]),
    ...(leftOut === 0 ? [] : [`${count(leftOut, 'run was', 'runs were')} not compared.`]),
    ...(missing === 0 ? [] : [`${count(missing, 'telemetry record is', 'telemetry records are')} missing.`]),
  ];
  return said.length === 0 ? null : said.join(' ');
}

/** Calls that were judged. */
export const callsOf = (counts: CoverageTable['counts']): number =>
  Object.values(counts).reduce((sum, n) => sum + n, 0);

export function nullIfPruned(error: unknown): null {
  if (prunedBelow(error) === null) throw error;
  return null;
}
