/** Comparing what was recorded with what comes out again. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { riskRouter } from '../../../src/core/risk/config.ts';
import { evaluateRisk } from '../../../src/core/risk/router.ts';
import {
  compareEvaluation,
  compareLeaf,
  compareRisk,
  detailOf,
  diverges,
  type Evaluation,
  notReplayable,
  type Reevaluation,
} from '../../../src/core/replay/steps.ts';
import { settings } from '../risk/facts.ts';

const hash = (digit: number): string => `sha256:${String(digit).repeat(64)}`;
const recorded: Evaluation = {
  engine: 'gov.cond/1',
  policies: [
    { id: 'no-shell', version: 3, policyHash: hash(1) },
    { id: 'spend', version: 1, policyHash: hash(2) },
    { id: 'quiet', version: 1, policyHash: hash(3) },
  ],
  decisions: [
    { policyId: 'no-shell', decision: 'deny', outcome: 'matched' },
    { policyId: 'spend', decision: 'escalate', outcome: 'indeterminate' },
  ],
  combined: 'deny',
};
const again = (changes: Partial<Reevaluation> = {}): Reevaluation => ({
  ...recorded,
  undecided: [],
  notRetained: [],
  masked: [],
  ...changes,
});
const withDecision = (at: number, changes: Partial<Evaluation['decisions'][number]>) =>
  recorded.decisions.with(at, { ...recorded.decisions[at]!, ...changes });
const compared = (changes: Partial<Reevaluation>) => {
  const outcome = compareEvaluation(recorded, again(changes));
  const { status, policyChange } = outcome;
  return [status, policyChange, detailOf(outcome)];
};

describe('a replayed evaluation', () => {
  it('a replayed evaluation matches when all decisions are the same, in any order', () => {
    const reversed = again({
      policies: recorded.policies.toReversed(),
      decisions: [
        ...recorded.decisions.toReversed(),
        { policyId: 'quiet', decision: 'allow', outcome: 'not_matched' },
      ],
    });
    expect(compareEvaluation(recorded, reversed)).toMatchObject({
      status: 'match',
      policyChange: 'unchanged',
      warnings: [],
    });
  });

  it('a replayed evaluation is looser when a policy that denied no longer denies', () => {
    expect(compared({ decisions: withDecision(0, { decision: 'escalate' }), combined: 'escalate' })).toEqual([
      'mismatch',
      'looser',
      '/policies/no-shell/decision: expected deny, got escalate; /combined: expected deny, got escalate',
    ]);
    const swapped = [
      { policyId: 'no-shell', decision: 'warn', outcome: 'matched' },
      { policyId: 'spend', decision: 'deny', outcome: 'matched' },
    ] as const;
    expect(compared({ decisions: swapped }).slice(0, 2)).toEqual(['mismatch', 'looser']);
  });

  it('a replayed evaluation is looser when a policy no longer objects', () => {
    expect(compared({ decisions: recorded.decisions.slice(1), combined: 'escalate' })).toEqual([
      'mismatch',
      'looser',
      '/policies/no-shell/decision: expected deny, got allow; /combined: expected deny, got escalate',
    ]);
  });

  it('a replayed evaluation is stricter when a policy objects more', () => {
    expect(compared({ decisions: withDecision(1, { decision: 'deny' }) })).toEqual([
      'mismatch',
      'stricter',
      '/policies/spend/decision: expected escalate, got deny',
    ]);
  });

  it('a replayed evaluation counts missing and new policies by their effect on the whole', () => {
    const renamed = {
      policies: recorded.policies.with(0, { id: 'shell', version: 1, policyHash: hash(7) }),
      decisions: withDecision(0, { policyId: 'shell' }),
    };
    expect(compared(renamed)).toEqual([
      'mismatch',
      'unchanged',
      '/policies/no-shell/decision: expected deny, got nothing; /policies/shell/decision: expected nothing, got deny',
    ]);
    const gone = { policies: recorded.policies.slice(1), decisions: recorded.decisions.slice(1) };
    expect(compared({ ...gone, combined: 'escalate' }).slice(0, 2)).toEqual(['mismatch', 'looser']);
    // one that had nothing to say changes nothing
    expect(compared({ policies: recorded.policies.slice(0, 2) }).slice(0, 2)).toEqual(['match', 'unchanged']);
  });

  it('a replayed evaluation differs when the same decision has another outcome', () => {
    expect(compared({ decisions: withDecision(1, { outcome: 'matched' }) })).toEqual([
      'mismatch',
      'unchanged',
      '/policies/spend/outcome: expected indeterminate, got matched',
    ]);
  });

  it('a replayed evaluation may use a newer version, but no other content of one version', () => {
    const changed = (changes: object) => recorded.policies.with(0, { ...recorded.policies[0]!, ...changes });
    expect(compared({ policies: changed({ version: 4, policyHash: hash(9) }) })[0]).toBe('match');
    const [status, , detail] = compared({ policies: changed({ policyHash: hash(9) }) });
    expect(status).toBe('mismatch');
    expect(detail).toBe(`/policies/no-shell/policyHash: expected ${hash(1)}, got ${hash(9)}`);
  });

  it('a replayed evaluation without retained inputs has no verdict unless other decisions differ', () => {
    const missing = { undecided: ['spend'], notRetained: ['context.amount', 'context.currency'] };
    const without = { ...missing, decisions: recorded.decisions.slice(0, 1) };
    expect(compared(without)).toEqual([
      'not_replayable',
      undefined,
      'inputs_not_retained: context.amount, context.currency',
    ]);
    expect(compared({ ...without, decisions: withDecision(0, { decision: 'warn' }) })).toEqual([
      'mismatch',
      'looser',
      '/policies/no-shell/decision: expected deny, got warn',
    ]);
  });

  it('a replayed evaluation warns of another engine and of masked values', () => {
    const { status, warnings } = compareEvaluation(
      recorded,
      again({ engine: 'gov.cond/2', masked: ['context.card', 'context.name'] }),
    );
    expect(status).toBe('match');
    expect(warnings).toEqual([
      'recorded by engine gov.cond/1, replayed by gov.cond/2',
      'masked in the record: context.card, context.name',
    ]);
  });
});

describe('a recomputed risk decision', () => {
  const inputs = {
    policyDecisions: [{ policyId: 'p', decision: 'warn', score: 0.5 }],
    explicitSignals: { a: 1 },
  };
  const verdict = evaluateRisk(inputs, riskRouter(settings()));

  it('a recomputed risk decision matches when it is the same', () => {
    const outcome = compareRisk(verdict, evaluateRisk(structuredClone(inputs), riskRouter(settings())));
    expect(outcome).toMatchObject({ status: 'match', riskActionChanged: false });
  });

  it('a recomputed risk decision names every member that differs', () => {
    // the same two facts in the same order: 1 of weight 0.5 by name before 0.5 of weight 1; strict weighs the first 0.8
    const strict = evaluateRisk(inputs, riskRouter(settings({ mode: 'strict' })));
    const outcome = compareRisk(verdict, strict);
    expect(outcome.status).toBe('mismatch');
    expect(outcome.differences!.list.map(({ field }) => field)).toEqual([
      '/action',
      '/configHash',
      '/deterministicInputsHash',
      '/factors/0/contribution',
      '/factors/0/weight',
      '/factors/1/contribution',
      '/factors/1/weight',
      '/score',
    ]);
    expect(outcome.riskActionChanged).toBe(true);
  });

  it('a recomputed risk decision says whether its action or would-be action changed', () => {
    const changed = (changes: object) => compareRisk(verdict, { ...verdict, ...changes });
    expect(changed({ configHash: hash(1) })).toMatchObject({ status: 'mismatch', riskActionChanged: false });
    expect(changed({ action: 'block' })).toMatchObject({ status: 'mismatch', riskActionChanged: true });
    expect(changed({ wouldBeAction: 'block' })).toMatchObject({
      status: 'mismatch',
      riskActionChanged: true,
    });
    expect(detailOf(changed({ score: 0.5 }))).toBe('/score: expected 0.75, got 0.5');
  });
});

describe('an event leaf', () => {
  it('an event leaf matches its own hash alone', () => {
    expect(compareLeaf(hash(1), hash(1)).status).toBe('match');
    const outcome = compareLeaf(hash(1), hash(2));
    expect(outcome.status).toBe('mismatch');
    expect(outcome.differences!.list).toMatchObject([{ field: '/leafHash', severity: 'critical' }]);
  });

  it('an event leaf without a hash matches nothing', () => {
    expect(compareLeaf('', '').status).toBe('mismatch');
    expect(compareLeaf(hash(1), '').differences!.list).toMatchObject([{ actual: '', severity: 'critical' }]);
  });
});

describe('a step detail', () => {
  it('a step detail is short and counts what it leaves out', () => {
    const policies = Array.from({ length: 400 }, (_, at) => ({
      id: `policy-${at}-${'x'.repeat(100)}`,
      version: 1,
      policyHash: hash(1),
    }));
    const decisions = policies.map(
      ({ id }) => ({ policyId: id, decision: 'deny', outcome: 'matched' }) as const,
    );
    const outcome = compareEvaluation(
      { ...recorded, policies, decisions },
      again({ policies, decisions: [] }),
    );
    const detail = detailOf(outcome)!;
    expect(detail.length).toBeLessThanOrEqual(limits.reasoningChars);
    expect(detail).toMatch(/; and 39[0-9] more$/);
    const paths = Array.from({ length: 400 }, (_, at) => `context.${at}.${'y'.repeat(100)}`);
    expect(detailOf(notReplayable('inputs_not_retained', paths))!.length).toBeLessThanOrEqual(
      limits.reasoningChars,
    );
  });

  it('a step detail is the reason alone when nothing can be listed', () => {
    expect(detailOf(notReplayable('inputs_erased'))).toBe('inputs_erased');
  });
});

it('a step diverges when its result differs from the record', () => {
  const statuses = ['match', 'mismatch', 'missing', 'extra', 'not_replayable'] as const;
  expect(statuses.filter(diverges)).toEqual(['mismatch', 'missing', 'extra']);
});
