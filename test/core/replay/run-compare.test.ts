/** Trial 2 against trial 1: every differing field is named, whatever its place. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { align } from '../../../src/core/replay/align.ts';
import { ReplayCollector } from '../../../src/core/replay/collector.ts';
import { compareRuns, type RunStep, StepWords } from '../../../src/core/replay/run-compare.ts';

const steps = (run: string, ...list: readonly (readonly [string, JsonObject?])[]): RunStep[] =>
  list.map(([action, members = {}], at) => ({
    eventId: `${run}-${at}`,
    eventType: action.startsWith('say') ? 'output.delivered' : 'tool.call',
    action,
    timestamp: '2026-01-01T00:00:00Z',
    members,
  }));

async function* streamed(run: readonly RunStep[]): AsyncGenerator<RunStep> {
  yield* run;
}

async function compare(expected: readonly RunStep[], actual: readonly RunStep[]) {
  const words = new StepWords();
  const numbers = (run: readonly RunStep[]) => Int32Array.from(run, (step) => words.number(step));
  const collector = new ReplayCollector();
  const alignment = align(numbers(expected), numbers(actual));
  for await (const { source, outcome } of compareRuns(alignment, streamed(expected), streamed(actual))) {
    collector.add(source, outcome);
  }
  return collector.finish();
}
const told = ({ steps }: Awaited<ReturnType<typeof compare>>): string[] =>
  steps.map(({ status, eventId, action }) => `${status} ${eventId} ${action}`);

const trial1 = steps(
  'one',
  ['get_user', { metadata: { args: { id: 'u1' } } }],
  ['get_order', { metadata: { args: { id: '#W1' }, result: { status: 'pending', total: 12.5 } } }],
  ['calculate', { metadata: { args: { expression: '1 + 1' } } }],
  ['cancel_order', { resource: { name: 'orders' }, metadata: { args: { reason: 'no longer needed' } } }],
  ['say goodbye'],
);

describe('a run compared with another run', () => {
  it('a run matches another run when all steps and members are equal', async () => {
    const report = await compare(
      trial1,
      steps('two', ...trial1.map(({ action, members }) => [action, members] as const)),
    );
    expect(told(report)).toEqual(trial1.map(({ action }, at) => `match two-${at} ${action}`));
    expect(report.driftDiagnostics).toEqual([]);
  });

  it('a run comparison names each missing, extra or different step and the different members', async () => {
    const trial2 = steps(
      'two',
      ['get_user', { metadata: { args: { id: 'u1' } } }],
      ['get_order', { metadata: { args: { id: '#W1' }, result: { status: 'shipped', total: 12.5 } } }],
      ['transfer', { metadata: { args: {} } }],
      ['cancel_order', { metadata: { args: { reason: 'ordered by mistake' }, retry: 1 } }],
      ['say goodbye'],
    );
    const report = await compare(trial1, trial2);
    expect(told(report)).toEqual([
      'match two-0 get_user',
      'mismatch two-1 get_order',
      'missing one-2 calculate',
      'extra two-2 transfer',
      'mismatch two-3 cancel_order',
      'match two-4 say goodbye',
    ]);
    expect(report.steps.map(({ detail }) => detail)).toEqual([
      undefined,
      '/metadata/result/status: expected "pending", got "shipped"',
      'expected tool.call calculate, got nothing',
      'expected nothing, got tool.call transfer',
      '/metadata/args/reason: expected "no longer needed", got "ordered by mistake"; ' +
        '/metadata/retry: expected nothing, got 1; /resource: expected {"name":"orders"}, got nothing',
      undefined,
    ]);
    expect(report.driftDiagnostics.map(({ field, severity }) => `${severity} ${field}`)).toEqual([
      'high steps[2]',
      'high steps[3]',
      'medium steps[1]/metadata/result/status',
      'medium steps[4]/metadata/args/reason',
      'low steps[4]/metadata/retry',
      'low steps[4]/resource',
    ]);
    expect(report.summary.firstDivergence).toBe(1);
  });

  it('a run compared with an empty run has only missing or only extra steps', async () => {
    expect((await compare(trial1, [])).summary).toMatchObject({ steps: 5, missing: 5 });
    expect((await compare([], trial1)).summary).toMatchObject({ steps: 5, extra: 5 });
    expect((await compare([], [])).summary).toMatchObject({ steps: 0 });
  });

  it('a run comparison reports every step of both runs once, in the order of each', async () => {
    const run = (name: string) =>
      fc
        .array(fc.constantFrom('a', 'b', 'say a', 'c'), { maxLength: 30 })
        .map((actions) => steps(name, ...actions.map((action) => [action] as const)));
    await fc.assert(
      fc.asyncProperty(run('one'), run('two'), async (expected, actual) => {
        const { steps } = await compare(expected, actual);
        const ids = (statuses: string[]) =>
          steps.filter(({ status }) => statuses.includes(status)).map(({ eventId }) => eventId);
        expect(ids(['match', 'extra'])).toEqual(actual.map(({ eventId }) => eventId));
        const shared = steps.filter(({ status }) => status !== 'extra').map(({ action }) => action);
        expect(shared).toEqual(expected.map(({ action }) => action));
      }),
      { seed: 61, numRuns: 500 },
    );
  });

  it('a run comparison takes event type and action as a pair', () => {
    const words = new StepWords();
    const number = (eventType: string, action: string) => words.number({ eventType, action });
    expect([number('a', 'b c'), number('a.b', 'c'), number('a', 'b'), number('a', 'b c')]).toEqual([
      0, 1, 2, 0,
    ]);
  });

  it('a run comparison refuses steps that are not the aligned ones', async () => {
    const alignment = { partners: Int32Array.of(0, 1), longest: true };
    const read = async (expected: RunStep[], actual: RunStep[]) => {
      const found = [];
      for await (const step of compareRuns(alignment, streamed(expected), streamed(actual))) found.push(step);
      return found;
    };
    const [first, second] = [trial1.slice(0, 1), trial1.slice(0, 2)];
    expect(await read(second, second)).toHaveLength(2);
    await expect(read(second, first)).rejects.toThrow('expected a step at 1 of the actual run, got none');
    await expect(read(first, second)).rejects.toThrow('expected 2 steps, got 1');
    await expect(read(trial1, second)).rejects.toThrow('expected 2 steps, got more');
  });
});
