/** Coverage of a run from the log (contract P5). Proven by `test/service/coverage/handlers.engines.test.ts`. */
import type { RunCoverage } from '../../contract/coverage.ts';
import { coverageVerdicts } from '../../contract/coverage.ts';
import { limits } from '../../contract/limits.ts';
import { CoverageJudge, type Coverage } from '../../core/coverage/judge.ts';
import { runEvents } from '../events/run-stream.ts';
import type { RunOf, Task, TaskContext } from '../call/work.ts';

/** Judges the events of a run below a leaf index. Cost: about 15 µs an event. */
export async function coverageOf(context: TaskContext, run: RunOf, beforeIndex: number): Promise<Coverage> {
  const judge = new CoverageJudge();
  for await (const chunk of runEvents(context, run, { fromSeq: 0, beforeIndex })) {
    for (const event of chunk) judge.add(event);
  }
  return judge.finish();
}

export const coverage: Task<'coverage'> = async (context, run) => {
  const { size } = await context.reader.head(run.projectId, 'audit');
  return bodyOf(run.runId, await coverageOf(context, run, size));
};

function bodyOf(runId: string, judged: Coverage): RunCoverage {
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
    gaps: gaps.slice(0, most),
    calls: worst.slice(0, most).map(({ index: _index, sources: reported, ...call }) => ({
      ...call,
      sources: [...reported],
    })),
    truncated: calls.length > most || gaps.length > most,
  };
}
