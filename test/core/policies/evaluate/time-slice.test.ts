/** What one request may cost where many policies have a say, or where a list makes each of them work: counted. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import type { PolicyAction } from '../../../../src/contract/policy-words.ts';
import type { Json, JsonObject } from '../../../../src/core/json/parse.ts';
import { workDone } from '../../../../src/core/policies/evaluate/budget.ts';
import { explain } from '../../../../src/core/policies/explain/detail.ts';
import { parseCondition } from '../../../../src/core/policies/language/parse.ts';
import { policyHash } from '../../../../src/core/policies/language/hash.ts';
import { reasoning } from '../../../../src/core/policies/explain/reasoning.ts';
import { PolicySet, type PolicyVersion } from '../../../../src/core/policies/set/in-force.ts';
import type { TimeSlicedWork } from '../../../../src/core/policies/evaluate/time-slice.ts';
import { recomputes } from '../../../../src/core/replay/again.ts';

function policy(policyId: string, condition: Json, action: PolicyAction = 'deny'): PolicyVersion {
  const hashed = { policyId, version: 1, action, severity: null, condition } as const;
  return { name: policyId, ...hashed, policyHash: policyHash(hashed) };
}

/** The result, and the work of each turn. */
function turnsOf<Result>(steps: TimeSlicedWork<Result>): { result: Result; turns: number[] } {
  const turns: number[] = [];
  for (;;) {
    const before = workDone();
    const step = steps.next();
    turns.push(workDone() - before);
    if (step.done === true) return { result: step.value, turns };
  }
}

const list = Array.from({ length: 9999 }, (_, at) => at);
const walks: Json = { some: [{ var: 'l' }, { '==': [{ var: '' }, -1] }] };

describe('a set that decides in time slices', () => {
  it('a set ends a turn after costly lists and decides the same as without turns', () => {
    const set = PolicySet.of(Array.from({ length: 100 }, (_, at) => policy(`p${at}`, walks)));
    const checkpoint = { context: { l: list } };
    const { result, turns } = turnsOf(set.deciding(checkpoint));
    expect(turns.length).toBeGreaterThanOrEqual(
      (100 * list.length) / (limits.timeSliceUnits + limits.conditionUnits),
    );
    expect(Math.max(...turns)).toBeLessThan(limits.timeSliceUnits + limits.conditionUnits + 100);
    expect(result).toEqual(set.decide(checkpoint));
  });

  it('a set ends a turn for thousands of policies, and needs one turn for few', () => {
    const set = PolicySet.of(
      Array.from({ length: 8000 }, (_, at) => policy(`p${at}`, { '>': [{ var: 'a' }, at] })),
    );
    expect(turnsOf(set.deciding({ context: {} })).turns.length).toBeGreaterThan(2);
    expect(turnsOf(set.deciding({ context: {} }, { ids: ['p1', 'p2'] })).turns).toHaveLength(1);
  });
});

describe('a set with more results than the list limit', () => {
  const most = limits.decisionsListed;
  const actionOf = (at: number): PolicyAction =>
    at % 100 === 99 ? 'deny' : at % 2 === 0 ? 'warn' : 'escalate';
  const policies = Array.from({ length: most * 2 }, (_, at) =>
    policy(`p${String(at).padStart(5, '0')}`, { '>': [{ var: 'a' }, at] }, actionOf(at)),
  );
  const set = PolicySet.of(policies);

  it('a set with more results than the list limit lists the gravest by id and counts all', () => {
    const { decisions, summary } = set.decide({ context: {} });
    expect(decisions).toHaveLength(most);
    expect(summary).toMatchObject({
      total: most * 2,
      indeterminate: most * 2,
      byDecision: { allow: 0, warn: most, escalate: most - most / 50, deny: most / 50 },
      combined: 'deny',
      truncated: true,
    });
    expect(summary.decidedBy).toHaveLength(most / 50);
    const count = (action: string): number => decisions.filter(({ decision }) => decision === action).length;
    expect([count('deny'), count('escalate'), count('warn')]).toEqual([most / 50, most - most / 50, 0]);
    expect(decisions.map(({ policyId }) => policyId)).toEqual(
      decisions.map(({ policyId }) => policyId).toSorted(),
    );
  });

  it('a summary does not mention truncation when all policies are listed', () => {
    const whole = PolicySet.of(policies.slice(0, most)).decide({ context: {} });
    expect(whole.decisions).toHaveLength(most);
    expect(whole.summary).not.toHaveProperty('truncated');
  });

  it('a truncated evaluation is recomputed from its record', () => {
    const checkpoint = { context: {} };
    const { decisions, summary } = set.decide(checkpoint);
    const recorded = {
      id: 'pev_1',
      runId: 'r',
      policySource: 'active',
      policyCount: summary.total,
      policyIds: null,
      policySetHash: summary.policySetHash,
      policyIndex: 3,
      combined: summary.combined,
      approval: null,
      evaluatedAt: '2026-01-01T00:00:00Z',
      decisions: decisions.map((each) => ({
        ...each,
        policyHash: set.get(each.policyId)!.policy.policyHash,
        reasoning: '',
      })),
      shadow: [],
      checkpoint: checkpoint as unknown as JsonObject,
      readSet: null,
      list: { n: decisions.length, root: 'sha256:r' },
    } as const;
    expect(recomputes(recorded, set)).toBe(true);
    expect(recomputes(recorded, set.without('p00099'))).toBe(false);
  });
});

describe('the explanation of a condition', () => {
  const clauses = Array.from({ length: 100 }, (_, at) => ({
    some: [{ var: 'l' }, { '==': [{ var: '' }, -at - 1] }],
  }));
  const node = parseCondition({ or: clauses });
  const work = (run: () => unknown): number => {
    const before = workDone();
    run();
    return workDone() - before;
  };

  it('the explanations of a condition cost a limited number of units', () => {
    const checkpoint = { context: { l: list } };
    reasoning({ action: 'deny', version: 1, node, input: { context: {} } }); // compiles the clauses
    const most = limits.reasoningUnits + limits.conditionUnits + 5000;
    expect(work(() => reasoning({ action: 'deny', version: 1, node, input: checkpoint }))).toBeLessThan(most);
    const mostOfAll = most + limits.nearestUnits + limits.conditionUnits;
    expect(work(() => explain(node, checkpoint))).toBeLessThan(mostOfAll);
    expect(reasoning({ action: 'deny', version: 1, node, input: checkpoint })).toContain(
      'deny (fail closed)',
    );
  });
});
