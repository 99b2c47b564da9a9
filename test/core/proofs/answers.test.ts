import { describe, expect, it } from 'vitest';
import { answersOf, violationTexts } from '../../../src/core/proofs/answers.ts';
import type { Statement } from '../../../src/core/proofs/statement.ts';
import type { CheckResult, LayerVerification } from '../../../src/core/proofs/verdict.ts';

const evidence = {} as Statement['evidence']; // not read
const denied: Statement = {
  layer: 'policy_compliance',
  nonce: '',
  evidence,
  claims: { firstViolation: { check: 'nothing_ran_after_deny', index: 43 } },
  checks: [{ id: 'nothing_ran_after_deny', pass: false }],
  verdict: 'fail',
};
const layer = (name: string, more: Partial<LayerVerification> = {}): LayerVerification => ({
  name,
  passed: true,
  basis: 'attested',
  ...more,
});
const integrity = layer('event_integrity', { basis: 'recomputed' });
const failed = (id: CheckResult['id']): CheckResult => ({ id, result: 'failed', code: 'HASH_MISMATCH' });

const answers = (layers: LayerVerification[], checks: CheckResult[] = [], anchored = true) =>
  answersOf({ checks, layers }, { anchored, statements: new Map([['policy_compliance', denied]]) });

describe('the approvals of a verification', () => {
  it.each([
    [{ n: 2 }, true, { used: 2, once: true }],
    [{ n: 1 }, false, { used: 1, once: false }],
    [{ n: 0 }, true, undefined],
    [undefined, true, undefined],
  ])('a verdict says of approvals %j whether each was used once', (approvals, pass, expected) => {
    const claims = approvals === undefined ? denied.claims : { ...denied.claims, approvals };
    const statement = { ...denied, claims, checks: [{ id: 'approvals_used_once', pass }] };
    const { approvals: got } = answersOf(
      { checks: [], layers: [integrity, layer('policy_compliance')] },
      { anchored: true, statements: new Map([['policy_compliance', statement]]) },
    );
    expect(got).toEqual(expected);
  });
});

describe('the two answers of a verification', () => {
  it('a run that violated a policy is authentic evidence of the violation', () => {
    const broken = layer('policy_compliance', { passed: false, code: 'LAYER_NOT_SATISFIED' });
    const checks = [{ id: 'layers_satisfied', result: 'failed', code: 'LAYER_NOT_SATISFIED' } as const];
    expect(answers([integrity, broken], checks)).toEqual({
      authentic: true,
      compliant: 'no',
      violation: { check: 'nothing_ran_after_deny', index: 43 },
    });
    expect(violationTexts['nothing_ran_after_deny']).toContain('denied');
  });

  it.each([
    ['yes', [integrity, layer('policy_compliance')]],
    ['not_governed', [integrity, layer('policy_compliance', { code: 'NO_POLICY_ACTIVE' })]],
    ['not_checked', [integrity]],
    [
      'yes',
      [
        integrity,
        layer('policy_compliance'),
        layer('replay_determinism', { passed: false, code: 'REPLAY_NOT_RUN' }),
      ],
    ],
  ] as const)('the answer to compliant is %s for these layers', (compliant, layers) => {
    expect(answers([...layers])).toEqual({ authentic: true, compliant, violation: null });
  });

  it.each([
    ['a check failed', [integrity, layer('policy_compliance')], [failed('events')], true],
    ['nothing ties it to a log', [integrity, layer('policy_compliance')], [], false],
    ['the run is not whole', [layer('event_integrity', { passed: false })], [], true],
    ['it has no layers', [], [], true],
  ] as const)(
    'a proof that is not authentic says nothing about policies: %s',
    (_, layers, checks, anchored) => {
      expect(answers([...layers], [...checks], anchored)).toEqual({
        authentic: false,
        compliant: 'not_checked',
        violation: null,
      });
    },
  );
});
