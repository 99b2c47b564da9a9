/**
 * 200 recorded runs of a real agent, each reported by three sources that agree: the program that governs its calls,
 * telemetry in batches, and the transcript, in several orders; some calls are denied and do not run. Nothing may alarm.
 * Then one source of each run loses one report of a call, which must not stay unseen.
 */
import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../src/contract/events.ts';
import type { ImportedRun } from '../../../src/core/intake/run.ts';
import { importRuns } from '../../../src/core/intake/registry.ts';
import { documents } from '../../../src/core/intake/source.ts';
import { hasData } from '../../paths.ts';
import { log, logs } from '../../http/otlp/requests.ts';
import { meta, readData } from '../intake/fits.ts';
import { judged, reported } from './sessions.ts';

const startMs = Date.UTC(2026, 0, 5, 9);
/** The file has no times: a second between two events leaves room for what happens in between. */
const spread = (run: ImportedRun): ImportedRun => ({
  ...run,
  events: run.events.map((event, at) => ({
    ...event,
    timestamp: new Date(startMs + at * 1000).toISOString(),
  })),
});

const name = 'tau-bench/gpt-4o-airline.json';
const runs = hasData
  ? [
      ...importRuns(documents(readData(name), name), {
        format: 'auto',
        importedAt: startMs,
        sourceName: 'gpt-4o-airline.json',
      }),
    ].map(spread)
  : [];

const isCall = ({ eventType }: EventInput): boolean => eventType === 'tool.call';
const isResult = ({ eventType }: EventInput): boolean => eventType === 'tool.result';

const toolOf = (run: ImportedRun, id: unknown): string => {
  const call = run.events.find((event) => isCall(event) && meta(event).toolCallId === id);
  const { resource } = call ?? {};
  return typeof resource === 'object' ? (resource.name ?? '') : '';
};

/** Every fifth run has a call that the policies deny. */
const deniedIn = (run: ImportedRun, no: number): string | undefined =>
  no % 5 === 0 ? meta(run.events.find(isCall)).toolCallId : undefined;

const bare = ({ runId, actor, resource, timestamp }: EventInput) => ({
  runId,
  actor,
  timestamp,
  ...(resource === undefined ? {} : { resource }),
});

function governed(run: ImportedRun, denied: string | undefined): EventInput[] {
  return run.events.flatMap((event): EventInput[] => {
    const { toolCallId } = meta(event);
    const shared = { ...bare(event), action: 'do' };
    if (toolCallId === denied && isCall(event))
      return [{ ...shared, eventType: 'tool.denied', metadata: { toolCallId, status: 'deny' } }];
    if (toolCallId === denied) return [];
    if (isCall(event))
      return [{ ...shared, eventType: 'tool.call', metadata: { toolCallId, evaluationId: 'pev_1' } }];
    return isResult(event)
      ? [{ ...shared, eventType: 'tool.result', metadata: { toolCallId, ok: true } }]
      : [];
  });
}

/** The client reports a refused call as an error. */
const transcriptOf = (run: ImportedRun, denied: string | undefined): ImportedRun => ({
  ...run,
  events: run.events.map((event) =>
    isResult(event) && meta(event).toolCallId === denied
      ? { ...event, metadata: { ...event.metadata, outcome: 'error' } }
      : event,
  ),
});

/** Batches of numbered log records, one record for each call that ran. */
function telemetry(run: ImportedRun, denied: string | undefined, size: number): ImportedRun[] {
  const records = run.events
    .filter((event) => isResult(event) && meta(event).toolCallId !== denied)
    .map((event, number) =>
      log(
        {
          'event.name': 'codex.tool_result',
          'conversation.id': run.runId,
          'event.sequence': number,
          tool_name: toolOf(run, meta(event).toolCallId),
          call_id: meta(event).toolCallId,
          success: 'true',
        },
        { timeUnixNano: `${Date.parse(event.timestamp)}000000` },
      ),
    );
  const batches: unknown[][] = [];
  for (let from = 0; from < records.length; from += size) batches.push(records.slice(from, from + size));
  return batches.flatMap((batch) => [
    ...importRuns([{ value: logs(...batch), line: 1 }], {
      format: 'otlp',
      importedAt: 0,
      sourceName: 'otlp',
    }),
  ]);
}

describe.skipIf(!hasData)('200 honest runs (skipped without the recorded runs)', () => {
  it('raise no alarm, in whatever order their sources report', () => {
    expect(runs.length).toBe(200);
    let calls = 0;
    for (const [no, run] of runs.entries()) {
      const denied = deniedIn(run, no);
      const hook = governed(run, denied);
      const otlp = telemetry(run, denied, 1 + (no % 4));
      const transcript = transcriptOf(run, denied);
      const orders = [
        [hook, ...otlp, transcript],
        [transcript, hook, ...otlp],
        [...otlp.toReversed(), transcript, hook],
      ];
      for (const order of orders) {
        const coverage = judged(reported(order));
        expect(coverage, run.runId).toMatchObject({ isAlarming: false, gaps: [] });
        const verdicts = coverage.calls.map(({ callId, verdict }) => [verdict, callId === denied]);
        expect(verdicts, run.runId).toEqual(
          verdicts.map(([, isDenied]) => [isDenied === true ? 'denied' : 'governed', isDenied]),
        );
        calls += coverage.calls.length;
      }
    }
    expect(calls).toBeGreaterThan(3 * 1000);
  });

  it('raise no alarm while they go on: telemetry may be behind', () => {
    for (const [no, run] of [...runs.entries()].filter(([at]) => at % 5 < 2)) {
      const denied = deniedIn(run, no);
      const parts: (readonly EventInput[] | ImportedRun)[] = [];
      const waiting = telemetry(run, denied, 2);
      const ended = new Set<unknown>();
      for (const event of governed(run, denied)) {
        parts.push([event]);
        if (isResult(event)) ended.add(meta(event).toolCallId);
        // a batch comes when all its calls have ended, and then some time later
        if (parts.length % 3 === 0 && waiting[0]?.events.every((each) => ended.has(meta(each).toolCallId)))
          parts.push(...waiting.splice(0, 1));
        expect(judged(reported(parts)).isAlarming, `${run.runId} after ${parts.length}`).toBe(false);
      }
    }
  });

  it('show it where one source loses one call', () => {
    let losses = 0;
    for (const [no, run] of [...runs.entries()].filter(([at]) => at % 2 === 0)) {
      const hook = governed(run, undefined);
      const ids = run.events.filter(isCall).map((event) => String(meta(event).toolCallId));
      // the run goes on after the call, so that the loss can show
      const lost = ids[no % Math.max(1, ids.length - 1)];
      if (lost === undefined || lost === ids.at(-1)) continue;
      losses += 1;
      const isOther = (event: EventInput): boolean => meta(event).toolCallId !== lost;
      const without = (of: ImportedRun): ImportedRun => ({ ...of, events: of.events.filter(isOther) });
      const otlp = telemetry(run, undefined, 2);
      const verdictOf = (sources: (readonly EventInput[] | ImportedRun)[]): string | undefined =>
        judged(reported(sources)).calls.find(({ callId }) => callId === lost)?.verdict;
      expect(verdictOf([hook.filter(isOther), ...otlp, run]), run.runId).toBe('ungoverned');
      expect(verdictOf([hook, ...otlp.map(without), run]), run.runId).toBe('gap');
      expect(verdictOf([hook, ...otlp, without(run)]), run.runId).toBe('gap');
    }
    expect(losses).toBeGreaterThan(75);
  });
});
