/** Coverage of a run from the log (contract P5). Proven by `test/service/coverage/handlers.engines.test.ts`. */
import type { RunCoverage } from '../../contract/coverage.ts';
import { coverageVerdicts } from '../../contract/coverage.ts';
import { limits } from '../../contract/limits.ts';
import {
  alarms,
  countsOf,
  CoverageJudge,
  type Coverage,
  type CoverageRules,
  type CoveredCall,
} from '../../core/coverage/judge.ts';
import type { RunEvent } from '../../core/events/run-entry.ts';
import type { PolicyTimeline } from '../../core/decided/timeline.ts';
import { runEvents } from '../events/run-stream.ts';
import { LoggedPolicies } from '../in-force/logged.ts';
import type { RunOf, Task, TaskContext } from '../call/work.ts';

/**
 * Judges the events of a run below a leaf index. `rules`: of a proof from before; `also`: gets each event too. `readsLinked`: the
 * decisions about programs that the kernel saw may be in other runs, which no proof reads. Cost: about 15 µs an event.
 */
export async function coverageOf(
  context: TaskContext,
  run: RunOf & {
    readonly rules?: CoverageRules | undefined;
    readonly also?: { readonly add: (event: RunEvent) => void };
    readonly readsLinked?: true;
  },
  beforeIndex: number,
): Promise<Coverage> {
  const judge = new CoverageJudge(run.rules);
  for await (const chunk of runEvents(context, run, { fromSeq: 0, beforeIndex })) {
    for (const event of chunk) {
      judge.add(event);
      run.also?.add(event);
    }
  }
  if (run.readsLinked === true) await readLinked(context, { judge, projectId: run.projectId, beforeIndex });
  return judge.finish();
}

async function readLinked(
  context: TaskContext,
  { judge, projectId, beforeIndex }: { judge: CoverageJudge; projectId: string; beforeIndex: number },
): Promise<void> {
  const linked = judge.linkedRuns;
  if (linked.length === 0 || linked.length > limits.coverageLinkedRuns) return;
  for (const runId of linked) {
    for await (const chunk of runEvents(context, { projectId, runId }, { fromSeq: 0, beforeIndex }))
      for (const event of chunk) judge.addLinked(event);
  }
  judge.addLinked(null);
}

type Timeline = Pick<PolicyTimeline, 'activeAtMs'>;

/** When policies were in force, from the leaves below an index. */
export async function policyTimes(
  context: Pick<TaskContext, 'reader' | 'breathe'>,
  projectId: string,
  beforeIndex: number,
): Promise<Timeline> {
  const policies = new LoggedPolicies(context, { projectId }, beforeIndex);
  await policies.advance(beforeIndex);
  return policies.timeline;
}

/** Why a call is a gap, or that no policy was in force when it ran without a decision. */
export const detailOf = ({ verdict, detail, firstMs }: CoveredCall, policies: Timeline): string | null =>
  verdict === 'ungoverned' && !policies.activeAtMs(firstMs) ? 'no policy was in force' : detail;

export const coverage: Task<'coverage'> = async (context, { projectId, runId, underPolicy }) => {
  const { size } = await context.reader.head(projectId, 'audit');
  const judged = await coverageOf(context, { projectId, runId, readsLinked: true }, size);
  if (!judged.isAlarming) return bodyOf(runId, judged);
  const policies = await policyTimes(context, projectId, size);
  return bodyOf(runId, underPolicy === true ? onlyUnder(judged, policies) : judged, policies);
};

/** Without the calls and gaps of times at which no policy was in force, or may have been none. */
function onlyUnder(judged: Coverage, policies: Timeline): Coverage {
  // both were decided, whatever was in force
  const isUnder = ({ verdict, firstMs }: CoveredCall): boolean =>
    verdict === 'denied_but_ran' || verdict === 'mismatch' || policies.activeAtMs(firstMs);
  const calls = judged.calls.filter(isUnder);
  const gaps = judged.gaps.filter(({ atMs }) => policies.activeAtMs(atMs));
  return {
    ...judged,
    calls,
    gaps,
    counts: countsOf(calls),
    isAlarming: gaps.length > 0 || calls.some(({ verdict }) => alarms.has(verdict)),
  };
}

function bodyOf(runId: string, judged: Coverage, policies?: Timeline): RunCoverage {
  const { events, calls, counts, sources, gaps, isAlarming, confirmed } = judged;
  const most = limits.coverageCallsAnswered;
  const worst = calls.toSorted(
    (a, b) => coverageVerdicts.indexOf(a.verdict) - coverageVerdicts.indexOf(b.verdict) || a.index - b.index,
  );
  return {
    runId,
    events,
    covered: !isAlarming,
    confirmed,
    counts,
    sources: [...sources],
    gaps: gaps.slice(0, most).map(({ source, first, last }) => ({ source, first, last })),
    calls: worst.slice(0, most).map((call) => ({
      callId: call.callId,
      eventId: call.eventId,
      tool: call.tool,
      verdict: call.verdict,
      decision: call.decision,
      ending: call.ending,
      sources: [...call.sources],
      compared: call.compared,
      detail: policies === undefined ? call.detail : detailOf(call, policies),
    })),
    truncated: calls.length > most || gaps.length > most,
  };
}
