/** What is kept of a replay, and its bounds. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { driftSeverities } from '../../../src/contract/replay-words.ts';
import { ReplayCollector } from '../../../src/core/replay/collector.ts';
import { Differences } from '../../../src/core/replay/fields.ts';
import { compareLeaf, match, notReplayable } from '../../../src/core/replay/steps.ts';
import { ReplaySummary } from '../../../src/core/replay/summary.ts';

const source = (at: number) => ({
  eventId: `evt_${at}`,
  eventType: 'tool.call',
  action: `a${at}`,
  timestamp: '2026-01-01T00:00:00Z',
});
/** Bytes of the heap that are in use after a full garbage collection. */
const heapInUse = (): number => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
};
const hash = (digit: number): string => `sha256:${String(digit).repeat(64)}`;

describe('a collector', () => {
  it('a collector keeps steps with index and detail, and reports drift by step', () => {
    const collector = new ReplayCollector();
    collector.add(source(0), match);
    collector.add(source(1), compareLeaf(hash(1), hash(2)));
    collector.add(source(2), notReplayable('inputs_erased'));
    const report = collector.finish();
    expect(report.steps).toEqual([
      { index: 0, ...source(0), status: 'match' },
      {
        index: 1,
        ...source(1),
        status: 'mismatch',
        detail: `/leafHash: expected ${hash(1)}, got ${hash(2)}`,
      },
      { index: 2, ...source(2), status: 'not_replayable', detail: 'inputs_erased' },
    ]);
    expect(report.driftDiagnostics).toEqual([
      { field: 'steps[1]/leafHash', expected: hash(1), actual: hash(2), severity: 'critical' },
    ]);
    expect(report.summary).toMatchObject({
      steps: 3,
      match: 1,
      mismatch: 1,
      notReplayable: 1,
      firstDivergence: 1,
    });
    expect(report.truncated).toBe(false);
    const summary = new ReplaySummary();
    for (const step of report.steps) summary.add(step);
    expect(summary.mismatches()).toEqual(report.mismatches);
  });

  it('a collector keeps no member of a source that is not part of a step', () => {
    const collector = new ReplayCollector();
    collector.add({ ...source(0), members: { secret: 1 } } as ReturnType<typeof source>, match);
    expect(collector.finish().steps[0]).toEqual({ index: 0, ...source(0), status: 'match' });
  });

  it('a collector summarizes what steps say about policies and the risk router', () => {
    const collector = new ReplayCollector();
    for (const policyChange of ['looser', 'stricter', 'stricter', 'unchanged'] as const) {
      collector.add(source(0), { status: 'match', policyChange });
    }
    collector.add(source(0), notReplayable('inputs_erased'));
    collector.add(source(0), { status: 'match', riskActionChanged: false });
    expect(collector.findings()).toEqual({
      looser: 1,
      stricter: 2,
      unchanged: 1,
      notReplayable: 1,
      riskActionChanged: false,
    });
    collector.add(source(0), { status: 'mismatch', riskActionChanged: true });
    collector.add(source(0), { status: 'match', riskActionChanged: false });
    expect(collector.findings().riskActionChanged).toBe(true);
  });

  it('a collector returns the gravest drift first, and equal severities in arrival order', () => {
    const collector = new ReplayCollector();
    for (const [at, severity] of [...driftSeverities, ...driftSeverities].entries()) {
      collector.drift({ field: String(at), expected: 'a', actual: 'b', severity });
    }
    expect(
      collector
        .finish()
        .driftDiagnostics.map(({ field }) => field)
        .join(''),
    ).toBe('37261504');
  });

  it('a collector keeps steps up to the limit, and counts and commits to all', () => {
    const collector = new ReplayCollector();
    for (let at = 0; at < limits.replaySteps; at++) collector.add(source(at), match);
    expect(collector.finish()).toMatchObject({ truncated: false, mismatches: { n: 0 } });
    collector.add(source(-1), { status: 'missing' });
    const report = collector.finish();
    expect(report.steps).toHaveLength(limits.replaySteps);
    expect(report.truncated).toBe(true);
    expect(report.mismatches.n).toBe(1);
    expect(report.summary).toMatchObject({
      steps: limits.replaySteps + 1,
      missing: 1,
      firstDivergence: limits.replaySteps,
    });
  });

  it('a collector keeps a share of drift for each severity, so that low drift hides no critical', () => {
    const share = limits.graphPartItems / 4;
    const collector = new ReplayCollector();
    const add = (severity: (typeof driftSeverities)[number]) =>
      collector.drift({ field: 'f', expected: 'a', actual: 'b', severity });
    for (let at = 0; at < share; at++) add('low');
    expect(collector.finish().truncated).toBe(false);
    add('low');
    add('critical');
    const report = collector.finish();
    expect(report.driftDiagnostics).toHaveLength(share + 1);
    expect(report.driftDiagnostics[0]!.severity).toBe('critical');
    expect(report).toMatchObject({ driftCount: share + 2, truncated: true });
  });

  it('a collector keeps each warning once, up to a limit, and counts the rest', () => {
    const collector = new ReplayCollector();
    for (const times of [0, 1]) {
      for (let at = 0; at < limits.fieldErrors; at++) collector.warn(`warning ${at}`);
      expect(collector.finish().warnings).toHaveLength(limits.fieldErrors);
      if (times === 1) collector.warn('x'.repeat(10_000));
    }
    expect(collector.finish().warnings.at(-1)).toBe('1 more warnings were left out');
  });

  it('a collector of 200,000 steps that differ in many members stays small', () => {
    const differences = new Differences({ differs: 'medium', absent: 'low' });
    for (let at = 0; at < 60; at++) differences.add(`/metadata/${at}`, 'x'.repeat(60), 'y'.repeat(60));
    const collector = new ReplayCollector();
    const before = heapInUse();
    for (let at = 0; at < limits.replaySteps; at++) {
      collector.add(source(at), { status: 'mismatch', differences });
    }
    const used = heapInUse() - before;
    expect(collector.finish().mismatches.n).toBe(limits.replaySteps);
    // A detail of 512 characters and a source of 4 short texts: below 2 KB a step.
    expect(used).toBeLessThan(2048 * limits.replaySteps);
    expect(used).toBeGreaterThan(64 * limits.replaySteps);
  });
});
