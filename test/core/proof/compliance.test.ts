import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import {
  type CallMade,
  type DecidedLeaf,
  type EvaluatedLeaf,
  type GovernedEvent,
  PolicyCompliance,
  type UseLeaf,
} from '../../../src/core/proof/compliance.ts';
import { noPolicyActive } from '../../../src/core/proof/layers.ts';
import { merkleRoot, leafHash } from '../../../src/core/merkle/tree.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { hashText } from '../../../src/core/hash.ts';
import type { LayerResult } from '../../../src/core/proof/statement.ts';

const set = { policySetHash: `sha256:${'a'.repeat(64)}`, policyIndex: 3 };
const decisions = { n: 1, root: `sha256:${'b'.repeat(64)}` };
const untold = { actor: null, tool: null, argumentsHash: null };
const search = { actor: null, tool: 'search', argumentsHash: 'sha256:00' };
const approval = { id: 'apr_1', requestedBy: 'key_1', expiresAt: '2026-01-02T00:00:00.000Z' };
const evaluated = (members: Partial<EvaluatedLeaf> = {}): EvaluatedLeaf => ({
  index: 10,
  id: 'pev_1',
  ...set,
  combined: 'allow',
  approval,
  decisions,
  inForce: set,
  recomputes: true,
  whole: true,
  call: search,
  expiresMs: Infinity,
  ...members,
});

interface Story {
  readonly evaluations?: readonly Partial<EvaluatedLeaf>[];
  readonly approvals?: readonly (readonly [
    index: number,
    evaluationId: string,
    outcome?: 'approved' | 'denied',
    decided?: Partial<DecidedLeaf>,
  ])[];
  readonly uses?: readonly (readonly [index: number, evaluationId: string, use?: Partial<UseLeaf>])[];
  readonly calls?: readonly (readonly [
    index: number,
    evaluationId: string | null,
    active?: boolean,
    call?: CallMade,
    serverMs?: number,
  ])[];
}

function judge({ evaluations = [], approvals = [], uses = [], calls = [] }: Story): LayerResult {
  const compliance = new PolicyCompliance();
  for (const each of evaluations) compliance.evaluation(evaluated(each));
  for (const [index, evaluationId, outcome = 'approved', decided = {}] of approvals) {
    const at = '2026-01-01T23:59:59.999Z';
    compliance.approval({ index, evaluationId, outcome, id: 'apr_1', approver: 'key_2', at, ...decided });
  }
  for (const [index, evaluationId, use = {}] of uses) {
    compliance.use({ index, evaluationId, id: 'apr_1', at: '2026-01-01T12:00:00.000Z', ...use });
  }
  for (const [index, evaluationId, policyActive = true, call = search, serverMs = 0] of calls) {
    compliance.governed({ index, evaluationId, policyActive, call, serverMs });
  }
  return compliance.finish();
}
const failed = (story: Story): string[] =>
  judge(story)
    .checks.filter(({ pass }) => !pass)
    .map(({ id }) => id);

describe('policy compliance', () => {
  it('policy compliance passes when each governed event was decided before it, and names the sets', () => {
    const { claims, checks, verdict } = judge({
      evaluations: [{}, { id: 'pev_2', index: 12, combined: 'warn' }],
      calls: [
        [11, 'pev_1'],
        [13, 'pev_2'],
      ],
    });
    const items = [
      { index: 10, id: 'pev_1', combined: 'allow' },
      { index: 12, id: 'pev_2', combined: 'warn' },
    ].map((each) => leafHash(canonicalize({ ...each, ...set, decisions })));
    expect(claims).toEqual({
      vacuous: false,
      policySets: [set.policySetHash],
      decisions: { n: 2, root: hashText(merkleRoot(items)) },
      denied: 0,
      escalated: 0,
      notRecomputed: 0,
      governed: 2,
      undecided: 0,
      uncompared: 0,
      firstViolation: null,
    });
    expect([checks.length, verdict]).toEqual([7, 'pass']);
  });

  it.each<[string, Story, string[]]>([
    ['a call that names no evaluation', { calls: [[11, null]] }, ['every_governed_event_decided']],
    ['a call that names an unknown one', { calls: [[11, 'pev_9']] }, ['every_governed_event_decided']],
    [
      'a call before its evaluation',
      { evaluations: [{}], calls: [[9, 'pev_1']] },
      ['every_governed_event_decided'],
    ],
    [
      'two calls of one evaluation',
      {
        evaluations: [{}],
        calls: [
          [11, 'pev_1'],
          [12, 'pev_1'],
        ],
      },
      ['every_governed_event_decided'],
    ],
    [
      'a call that was denied',
      { evaluations: [{ combined: 'deny' }], calls: [[11, 'pev_1']] },
      ['nothing_ran_after_deny'],
    ],
    [
      'a call that was denied, though no policy was active when it ran',
      { evaluations: [{ combined: 'deny' }], calls: [[11, 'pev_1', false]] },
      ['nothing_ran_after_deny'],
    ],
    [
      'an escalation that nobody approved',
      { evaluations: [{ combined: 'escalate' }], calls: [[12, 'pev_1']] },
      ['escalations_approved'],
    ],
    [
      'an escalation that was refused',
      {
        evaluations: [{ combined: 'escalate' }],
        approvals: [[11, 'pev_1', 'denied']],
        calls: [[12, 'pev_1']],
      },
      ['escalations_approved'],
    ],
    [
      'an approval that came after the call',
      { evaluations: [{ combined: 'escalate' }], approvals: [[13, 'pev_1']], calls: [[12, 'pev_1']] },
      ['escalations_approved'],
    ],
    [
      'the approval of another evaluation',
      { evaluations: [{ combined: 'escalate' }], approvals: [[11, 'pev_2']], calls: [[12, 'pev_1']] },
      ['escalations_approved'],
    ],
    ...(
      [
        ['by the key that asked', { approver: 'key_1' }],
        ['once it expired', { at: '2026-01-02T00:00:00.000Z' }],
        ['at no time', { at: '' }],
        ['under another id', { id: 'apr_2' }],
      ] as const
    ).map(([how, decided]): [string, Story, string[]] => [
      `an approval ${how}`,
      {
        evaluations: [{ combined: 'escalate' }],
        approvals: [[11, 'pev_1', 'approved', decided]],
        calls: [[12, 'pev_1']],
      },
      ['escalations_approved'],
    ]),
    [
      'an approval that its evaluation did not open',
      {
        evaluations: [{ combined: 'escalate', approval: null }],
        approvals: [[11, 'pev_1']],
        calls: [[12, 'pev_1']],
      },
      ['escalations_approved'],
    ],
    [
      'a set that was not in force',
      { evaluations: [{ inForce: { ...set, policySetHash: 'sha256:other' } }] },
      ['sets_were_in_force'],
    ],
    [
      'a set of an earlier moment',
      { evaluations: [{ inForce: { ...set, policyIndex: 4 } }] },
      ['sets_were_in_force'],
    ],
    [
      'a decision that comes out otherwise',
      { evaluations: [{ recomputes: false }] },
      ['decisions_recompute'],
    ],
  ])('policy compliance fails with the name of the check for %s', (_, story, checks) => {
    expect(failed(story)).toEqual(checks);
    expect(judge(story).verdict).toBe('fail');
  });

  it('policy compliance names the first violating event', () => {
    const { claims } = judge({ evaluations: [{ recomputes: false }], calls: [[4, null]] });
    expect(claims['firstViolation']).toEqual({ check: 'every_governed_event_decided', index: 4 });
  });

  it('policy compliance counts erased evaluations and passes without them', () => {
    const { claims, verdict } = judge({ evaluations: [{ recomputes: null }], calls: [[11, 'pev_1']] });
    expect([claims['notRecomputed'], verdict]).toEqual([1, 'pass']);
  });

  it('policy compliance allows an approved escalation to run', () => {
    expect(
      failed({
        evaluations: [{ combined: 'escalate' }],
        approvals: [[11, 'pev_1']],
        calls: [[12, 'pev_1']],
      }),
    ).toEqual([]);
  });

  it('policy compliance is vacuous without active policies and evaluations', () => {
    expect(judge({})).toEqual(noPolicyActive());
    expect(judge({ calls: [[11, 'pev_1', false]] })).toEqual(noPolicyActive());
    expect(judge({ evaluations: [{}] }).claims['vacuous']).toBe(false);
  });

  it('policy compliance states a limited number of policy sets', () => {
    const evaluations = Array.from({ length: limits.statedPolicySets + 1 }, (_, at) => {
      const own = { policySetHash: `sha256:${at}`, policyIndex: 3 };
      return { id: `pev_${at}`, index: at, ...own, inForce: own };
    });
    expect(judge({ evaluations }).claims['policySets']).toHaveLength(limits.statedPolicySets);
    expect(failed({ evaluations })).toEqual([]);
  });

  it('policy compliance fails when tool, arguments or actor differ from the evaluation', () => {
    const call = { actor: '"planner"', tool: 'refund', argumentsHash: 'sha256:aa' };
    const ran = (made: CallMade): LayerResult =>
      judge({ evaluations: [{ call }], calls: [[11, 'pev_1', true, made]] });
    expect(ran(call).verdict).toBe('pass');
    for (const other of [
      { ...call, tool: 'transfer' },
      { ...call, argumentsHash: 'sha256:bb' },
      { ...call, actor: '"intruder"' },
    ]) {
      expect(ran(other).claims['firstViolation']).toEqual({ check: 'calls_as_evaluated', index: 11 });
    }
  });

  it('policy compliance accepts a decision until it expires, with a small tolerance', () => {
    const at = (serverMs: number): string[] =>
      failed({ evaluations: [{ expiresMs: 60_000 }], calls: [[11, 'pev_1', true, search, serverMs]] });
    const lastMs = 60_000 + limits.toolDecisionSlackSeconds * 1000;
    expect([at(lastMs), at(lastMs + 1)]).toEqual([[], ['decisions_were_fresh']]);
  });

  it('policy compliance fails when an evaluation did not ask every policy in force', () => {
    expect(failed({ evaluations: [{ whole: false }], calls: [[11, 'pev_1']] })).toEqual([
      'every_governed_event_decided',
    ]);
  });

  it('policy compliance fails when an event or an evaluation does not state the call', () => {
    for (const story of [
      { evaluations: [{}], calls: [[11, 'pev_1', true, untold]] },
      { evaluations: [{ call: untold }], calls: [[11, 'pev_1']] },
    ] satisfies Story[]) {
      expect(failed(story)).toEqual(['calls_as_evaluated']);
    }
  });

  it('policy compliance counts calls whose evaluation was erased', () => {
    const { claims, verdict } = judge({
      evaluations: [{ call: untold, recomputes: null }],
      calls: [[11, 'pev_1']],
    });
    expect([claims['uncompared'], verdict]).toEqual([1, 'pass']);
  });

  it('policy compliance counts a report of a decided call as that call, whichever comes first', () => {
    const event = { policyActive: true, serverMs: 0, call: search, callId: 'c1' };
    const report = { ...event, evaluationId: null, isReport: true };
    const decided = { ...event, evaluationId: 'pev_1' };
    const judgeBoth = (...events: GovernedEvent[]) => {
      const compliance = new PolicyCompliance();
      compliance.evaluation(evaluated());
      for (const each of events) compliance.governed(each);
      return compliance.finish();
    };
    for (const [first, second] of [
      [report, decided],
      [decided, report],
    ] as const) {
      const { verdict, claims } = judgeBoth({ ...first, index: 11 }, { ...second, index: 12 });
      expect([verdict, claims['governed'], claims['undecided']]).toEqual(['pass', 1, 0]);
    }
    for (const other of [
      { ...report, callId: 'c2' },
      { ...report, callId: null },
      { ...report, isReport: false },
    ]) {
      const { verdict, claims } = judgeBoth({ ...decided, index: 11 }, { ...other, index: 12 });
      expect([verdict, claims['governed'], claims['undecided']]).toEqual(['fail', 2, 1]);
      expect(claims['firstViolation']).toEqual({ check: 'every_governed_event_decided', index: 12 });
    }
  });
});

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
