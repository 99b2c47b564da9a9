import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import type { PolicyAction } from '../../../../src/contract/policy-words.ts';
import type { Json } from '../../../../src/core/json/parse.ts';
import { type PolicyInput, compile } from '../../../../src/core/policies/evaluate/compile.ts';
import {
  HistoryTally,
  type HistoryImpact,
  type RecordedInput,
} from '../../../../src/core/policies/impact/history.ts';
import {
  changeCounts,
  compare,
  type Side,
  wilsonInterval,
} from '../../../../src/core/policies/impact/changes.ts';
import { parseCondition } from '../../../../src/core/policies/language/parse.ts';
import { readSet } from '../../../../src/core/policies/language/read-set.ts';

const side = (version: number | null, action: PolicyAction, condition: Json): Side => ({
  version,
  action,
  onIndeterminate: null,
  condition: compile(parseCondition(condition)),
});
const context = (context: Record<string, Json>): PolicyInput => ({ context });

const active = side(2, 'deny', { 'tool.name': 'shell' });
const proposal = side(null, 'escalate', { 'tool.name': { in: ['shell', 'sql'] } });
const shell = context({ tool: { name: 'shell' } });
const sql = context({ tool: { name: 'sql' } });
const mail = context({ tool: { name: 'mail' } });
const open = context({});

describe('the impact on samples', () => {
  it('the impact on samples compares both versions on each sample, in order', () => {
    expect([shell, sql, mail, open].map((sample) => compare(sample, active, proposal))).toEqual([
      {
        before: { version: 2, decision: 'deny', outcome: 'matched' },
        after: { version: null, decision: 'escalate', outcome: 'matched' },
        changed: true,
        direction: 'loosened',
      },
      {
        before: { version: 2, decision: 'allow', outcome: 'not_matched' },
        after: { version: null, decision: 'escalate', outcome: 'matched' },
        changed: true,
        direction: 'tightened',
      },
      {
        before: { version: 2, decision: 'allow', outcome: 'not_matched' },
        after: { version: null, decision: 'allow', outcome: 'not_matched' },
        changed: false,
        direction: 'same',
      },
      {
        before: { version: 2, decision: 'deny', outcome: 'indeterminate' },
        after: { version: null, decision: 'escalate', outcome: 'indeterminate' },
        changed: true,
        direction: 'loosened',
      },
    ]);
  });

  it('the impact counts no change when only the outcome differs', () => {
    const always = side(3, 'deny', {});
    expect(compare(open, active, always)).toMatchObject({
      before: { outcome: 'indeterminate' },
      after: { outcome: 'matched' },
      changed: false,
      direction: 'same',
    });
  });

  it('the impact starts from allow when no version is active', () => {
    const { before, direction } = compare(shell, null, active);
    expect(before).toEqual({ version: null, decision: 'allow', outcome: 'inactive' });
    expect(direction).toBe('tightened');
  });

  it('the change rate of an impact has 6 decimals', () => {
    expect(changeCounts(1, 3).changeRate).toBe(0.333333);
    expect(changeCounts(2, 3).changeRate).toBe(0.666667);
    expect(changeCounts(0, 0).changeRate).toBe(0);
  });
});

describe("Wilson's interval", () => {
  it.each([
    [0, 10, 0, 0.277533],
    [5, 10, 0.236593, 0.763407],
    [10, 100, 0.055229, 0.174366],
    [1, 1, 0.206549, 1],
    [0, 0, 0, 1],
  ])('the Wilson interval of %i in %i is %d to %d', (changed, sample, low, high) => {
    expect(wilsonInterval(changed, sample)).toEqual({ low, high });
  });

  it('the Wilson interval contains the rate, is within 0 and 1, and narrows with the sample', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), fc.nat(), (sample, pick) => {
        const changed = pick % (sample + 1);
        const { low, high } = wilsonInterval(changed, sample);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(low).toBeLessThanOrEqual(changed / sample + 1e-6);
        expect(high).toBeGreaterThanOrEqual(changed / sample - 1e-6);
        expect(high).toBeLessThanOrEqual(1);
        const more = wilsonInterval(changed * 10, sample * 10);
        expect(more.high - more.low).toBeLessThan(high - low);
      }),
    );
  });
});

const retained = readSet(['context.tool.name']);
let count = 0;
const record = (checkpoint: PolicyInput, more: Partial<RecordedInput> = {}): RecordedInput => {
  count++;
  const { paths } = retained;
  const ids = { evaluationId: `evaluation-${count}`, runId: `run-${count}` };
  return { ...ids, agent: null, tool: null, input: retained.retain(checkpoint), paths, ...more };
};

function historyImpact(records: readonly RecordedInput[], before: Side | null, after: Side): HistoryImpact {
  const tally = new HistoryTally(before, after);
  for (const each of records) tally.add(each);
  return tally.impact();
}

describe('the impact on history', () => {
  it('the impact on history replays retained inputs and counts missing ones with their paths', () => {
    const byUser = side(null, 'deny', { 'tool.name': 'shell', 'user.id': { in: ['x'] }, amount: { '>': 1 } });
    const whole = record(context({ tool: { name: 'shell' }, user: { id: 'x' }, amount: 0 }));
    const records = [
      record(shell),
      { ...record(sql), paths: [...retained.paths, 'context.amount'] },
      {
        ...whole,
        paths: ['$'],
        input: context({ tool: { name: 'shell' }, user: { id: 'x' }, amount: 0 }),
      },
    ];
    expect(historyImpact(records, active, byUser)).toMatchObject({
      sampleCount: 1,
      replayed: 1,
      notReplayable: { count: 2, paths: ['context.amount', 'context.user.id'] },
      changedCount: 1,
      changeRate: 1,
      tightened: 0,
      loosened: 1,
      interval: { low: 0.206549, high: 1 },
    });
  });

  it('a history record is not replayable when only the earlier version reads missing inputs', () => {
    const { notReplayable } = historyImpact([record(shell)], side(1, 'deny', { env: 'prod' }), active);
    expect(notReplayable).toEqual({ count: 1, paths: ['context.env'] });
    expect(historyImpact([record(shell)], null, active).replayed).toBe(1);
  });

  it('the impact on history groups by agent and tool, with most changes first', () => {
    const records = [
      record(shell, { agent: 'a', tool: 'shell' }),
      record(sql, { agent: 'b', tool: 'sql' }),
      record(sql, { agent: 'b', tool: 'sql' }),
      record(mail, { agent: 'a', tool: 'mail' }),
      record(sql),
    ];
    const { byAgent, byTool, tightened, loosened } = historyImpact(records, active, proposal);
    expect([tightened, loosened]).toEqual([3, 1]);
    expect(byAgent).toEqual([
      { key: 'b', total: 2, tightened: 2, loosened: 0 },
      { key: 'a', total: 2, tightened: 0, loosened: 1 },
    ]);
    expect(byTool.map(({ key }) => key)).toEqual(['sql', 'shell', 'mail']);
  });

  it('the impact on history shows a few examples of each direction, of different runs', () => {
    const records = [1, 1, 2, 3, 4, 5].map((run) => record(sql, { runId: `run ${run}` }));
    const { examples } = historyImpact([...records, record(mail), record(shell)], active, proposal);
    expect(examples.tightened.map(({ runId }) => runId)).toEqual(['run 1', 'run 2', 'run 3']);
    expect(examples.tightened[0]).toMatchObject({
      evaluationId: records[0]!.evaluationId,
      input: sql,
      before: { decision: 'allow' },
      after: { decision: 'escalate' },
    });
    expect(examples.loosened).toHaveLength(1);
  });

  it('the impact on history lists a limited number of groups', () => {
    const records = Array.from({ length: limits.impactGroups + 1 }, (_, at) =>
      record(sql, { agent: `a${at}` }),
    );
    const { byAgent, byTool, sampleCount } = historyImpact(records, active, proposal);
    expect(byAgent).toHaveLength(limits.impactGroups);
    expect(byTool).toEqual([]);
    expect(sampleCount).toBe(limits.impactGroups + 1);
  });

  it('the impact on an empty history has no change', () => {
    expect(historyImpact([], active, proposal)).toMatchObject({
      sampleCount: 0,
      changeRate: 0,
      interval: { low: 0, high: 1 },
      notReplayable: { count: 0, paths: [] },
    });
  });
});
