/** Recorded evaluations, made again on what is left of them. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { policyHash } from '../../../src/core/policies/language/hash.ts';
import { PolicySet, type PolicyVersion } from '../../../src/core/policies/set/in-force.ts';
import { withAction } from '../../../src/core/action/recorded.ts';
import {
  evaluateAgain,
  hasOtherAction,
  type OpenEvaluation,
  recomputes,
} from '../../../src/core/replay/again.ts';
import type { PolicyAction } from '../../../src/contract/policy-words.ts';

function version(policyId: string, tool: string, action: PolicyAction, number = 1): PolicyVersion {
  const content = { policyId, version: number, action, severity: null, condition: { 'tool.name': tool } };
  return { ...content, name: policyId, policyHash: policyHash(content) };
}
const set = PolicySet.of([version('no-shell', 'shell', 'deny'), version('ask-pay', 'pay', 'escalate')]);
const whole = { context: { tool: { name: 'shell' }, secret: 's' } };

/** What a set says, as it is recorded. */
function recorded(checkpoint: JsonObject, ids: readonly string[] | null = null): OpenEvaluation {
  const { decisions, summary } = set.decide(checkpoint as never, { ids: ids ?? [] });
  return {
    id: 'pev_1',
    runId: 'r',
    policySource: 'active',
    policyCount: summary.total,
    policyIds: ids,
    policySetHash: summary.policySetHash,
    policyIndex: 3,
    combined: summary.combined,
    approval: null,
    evaluatedAt: '2026-01-01T00:00:00Z',
    decisions: decisions.map((decision) => ({
      ...decision,
      policyHash: set.get(decision.policyId)?.policy.policyHash ?? null,
      reasoning: '',
    })),
    shadow: [],
    checkpoint,
    readSet: set.readSet.retain(checkpoint as never) as unknown as JsonObject,
    list: { n: decisions.length, root: 'sha256:r' },
  };
}

describe('a repeated evaluation', () => {
  it('a repeated evaluation with its old policies is the same, even from its read-set alone', () => {
    for (const ids of [null, ['ask-pay', 'unheard-of']]) {
      const evaluation = recorded(whole, ids);
      expect(recomputes(evaluation, set)).toBe(true);
      const erased = { ...evaluation, checkpoint: null };
      expect(erased.readSet).toEqual({ context: { tool: { name: 'shell' } } });
      expect(recomputes(erased, set)).toBe(true);
    }
  });

  it('a repeated evaluation gives no result when its input or decisions were erased', () => {
    const evaluation = recorded(whole);
    expect(recomputes({ ...evaluation, checkpoint: null, readSet: null }, set)).toBeNull();
    expect(recomputes({ ...evaluation, decisions: evaluation.decisions.slice(1) }, set)).toBeNull();
    expect(evaluateAgain({ ...evaluation, checkpoint: null, readSet: null }, set, set.readSet)).toBeNull();
  });

  it('a repeated evaluation of a tool call fails where its action is not the one of the call', () => {
    const { context } = withAction({ tool: { name: 'shell' }, arguments: {} });
    const call = { ...recorded({ context }), policySource: 'tool' } as const;
    expect([hasOtherAction(call), recomputes(call, set)]).toEqual([false, true]);
    const changed = {
      ...call,
      checkpoint: { context: { ...context, arguments: { a: 1 }, facts: { plane: 'x:1' } } },
    };
    expect([hasOtherAction(changed), recomputes(changed, set)]).toEqual([true, false]);
    // a caller may name any member of the input of another evaluation
    expect(hasOtherAction({ ...changed, policySource: 'active' })).toBe(false);
  });

  it('a repeated evaluation needs no policy input when nothing is read', () => {
    const evaluation = { ...recorded(whole), decisions: [], list: { n: 0, root: '' }, policyCount: 0 };
    const erased = { ...evaluation, combined: 'allow', checkpoint: null, readSet: null } as const;
    expect(recomputes(erased, PolicySet.empty)).toBe(true);
  });

  it.each<[string, (evaluation: OpenEvaluation) => OpenEvaluation]>([
    ['combination', (each) => ({ ...each, combined: 'allow' })],
    ['number of policies', (each) => ({ ...each, policyCount: 3 })],
    ['order', (each) => ({ ...each, decisions: each.decisions.toReversed() })],
    ...(['decision', 'outcome', 'severity', 'version', 'policyHash', 'policyId'] as const).map(
      (member): [string, (evaluation: OpenEvaluation) => OpenEvaluation] => [
        member,
        (each) => ({
          ...each,
          decisions: each.decisions.map((decision, at) =>
            at === 0 ? ({ ...decision, [member]: 'other' } as never) : decision,
          ),
        }),
      ],
    ),
  ])('a repeated evaluation differs from a record with another %s', (_, change) => {
    expect(recomputes(change(recorded(whole)), set)).toBe(false);
  });

  it('an evaluation by other policies names their reads that were not retained', () => {
    const other = set.with({
      ...version('no-shell', 'shell', 'deny', 2),
      condition: { '==': [{ var: 'context.secret' }, 's'] },
    });
    const evaluation = recorded(whole);
    expect(evaluateAgain(evaluation, other, set.readSet)).toMatchObject({ undecided: [], notRetained: [] });
    expect(evaluateAgain({ ...evaluation, checkpoint: null }, other, set.readSet)).toMatchObject({
      undecided: ['no-shell'],
      notRetained: ['context.secret'],
    });
  });
});
