import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { type EvaluatedLeaf } from '../../../src/core/proofs/compliance.ts';
import { merkleRoot, leafHash } from '../../../src/core/merkle/tree.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { hashText } from '../../../src/core/hash.ts';
import { approval, failed, judge, search, set, type Story } from './story.ts';

/** pev_1 escalated and was approved at 11; pev_2 used the approval at 13. */
const again: Story = {
  evaluations: [
    { combined: 'escalate' },
    { id: 'pev_2', index: 12, combined: 'escalate', approval: null, expiresMs: 60_000 },
  ],
  approvals: [[11, 'pev_1']],
  uses: [[13, 'pev_2']],
  calls: [[14, 'pev_2']],
};
describe('policy compliance of a used approval', () => {
  it('policy compliance states who approved the call, what used the approval, and what ran', () => {
    const { claims, checks, verdict } = judge(again);
    const item = { id: 'apr_1', opened: 10, approver: 'key_2', approved: 11, allowed: 12, ran: 14 };
    const root = hashText(merkleRoot([leafHash(canonicalize(item))]));
    expect(claims['approvals']).toEqual({ n: 1, root, listed: [item] });
    expect([checks.length, checks.at(-1), verdict]).toEqual([
      8,
      { id: 'approvals_used_once', pass: true },
      'pass',
    ]);
    const unrun = judge({ ...again, calls: [] }).claims['approvals'];
    expect(unrun).toMatchObject({ listed: [{ ...item, ran: null }] });
    expect(failed({ ...again, calls: [[14, 'pev_1']] })).toEqual([]);
  });

  it.each<[string, Story, string[]]>([
    [
      'two events by one approval, under both of its evaluations',
      {
        ...again,
        calls: [
          [14, 'pev_2'],
          [15, 'pev_1'],
        ],
      },
      ['approvals_used_once'],
    ],
    [
      'two evaluations that used one approval',
      {
        ...again,
        evaluations: [
          ...(again.evaluations ?? []),
          { id: 'pev_3', index: 14, combined: 'escalate', approval: null },
        ],
        uses: [
          [13, 'pev_2'],
          [15, 'pev_3'],
        ],
        calls: [[16, 'pev_3']],
      },
      ['escalations_approved', 'approvals_used_once'],
    ],
    ['a use that nothing logged', { ...again, uses: [] }, ['escalations_approved']],
    ['a use without an approval', { ...again, approvals: [] }, ['escalations_approved']],
    ['a use before the approval', { ...again, approvals: [[13, 'pev_1']] }, ['escalations_approved']],
    [
      'a use of another approval',
      { ...again, uses: [[13, 'pev_2', { id: 'apr_2' }]] },
      ['escalations_approved'],
    ],
    [
      'a use after the approval expired',
      { ...again, uses: [[13, 'pev_2', { at: '2026-01-02T00:00:00.000Z' }]] },
      ['escalations_approved'],
    ],
    [
      'a use by an evaluation of another call',
      { ...again, evaluations: changed({ call: { ...search, argumentsHash: 'sha256:01' } }) },
      ['calls_as_evaluated', 'escalations_approved'],
    ],
    [
      'a use under other policies',
      {
        ...again,
        evaluations: changed({ policySetHash: 'sha256:c', inForce: { ...set, policySetHash: 'sha256:c' } }),
      },
      ['escalations_approved'],
    ],
    [
      'an event long after the use',
      { ...again, calls: [[14, 'pev_2', true, search, 90_001]] },
      ['decisions_were_fresh'],
    ],
  ])('policy compliance fails for %s', (_, story, checks) => {
    expect(failed(story)).toEqual(checks);
  });

  it('policy compliance lists a limited number of used approvals', () => {
    const all = Array.from({ length: limits.statedApprovals + 1 }, (_, at) => at);
    const { claims, verdict } = judge({
      evaluations: all.flatMap((at) => [
        { id: `pev_${at}`, index: 3 * at, combined: 'escalate', approval: { ...approval, id: `apr_${at}` } },
        { id: `pev_u${at}`, index: 3 * at + 2, combined: 'escalate', approval: null },
      ]),
      approvals: all.map((at) => [3 * at + 1, `pev_${at}`, 'approved', { id: `apr_${at}` }]),
      uses: all.map((at) => [3 * at + 2, `pev_u${at}`, { id: `apr_${at}` }]),
    });
    expect(claims['approvals']).toMatchObject({ n: limits.statedApprovals + 1 });
    expect((claims['approvals'] as { listed: unknown[] }).listed).toHaveLength(limits.statedApprovals);
    expect(verdict).toBe('pass');
  });

  function changed(second: Partial<EvaluatedLeaf>): Partial<EvaluatedLeaf>[] {
    const [first = {}, other = {}] = again.evaluations ?? [];
    return [first, { ...other, ...second }];
  }
});
