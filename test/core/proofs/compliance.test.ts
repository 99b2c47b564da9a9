import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { EvaluatedCall } from '../../../src/core/decided/evaluation.ts';
import { type GovernedEvent, PolicyCompliance } from '../../../src/core/proofs/compliance.ts';
import { noPolicyActive } from '../../../src/core/proofs/layers.ts';
import { merkleRoot, leafHash } from '../../../src/core/merkle/tree.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { hashText } from '../../../src/core/hash.ts';
import type { LayerResult } from '../../../src/core/proofs/statement.ts';
import {
  approval,
  decisions,
  evaluated,
  failed,
  judge,
  noApprovers,
  search,
  set,
  untold,
  type Story,
} from './story.ts';

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
    const ran = (made: EvaluatedCall): LayerResult =>
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
      const compliance = new PolicyCompliance(noApprovers);
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

  it('policy compliance counts spans that telemetry joined as one call, and takes one join a call', () => {
    const event = { policyActive: true, serverMs: 0, call: search, evaluationId: null, isReport: true };
    const judgeJoins = (joins: [from: string, to: string][], { isDecided }: { isDecided: boolean }) => {
      const compliance = new PolicyCompliance(noApprovers);
      compliance.evaluation(evaluated());
      for (const [from, to] of joins) compliance.joined({ from, to });
      const outer = isDecided ? { evaluationId: 'pev_1', isReport: false } : {};
      compliance.governed({ ...event, callId: 'c1', index: 11, ...outer });
      for (const callId of ['import:a', 'import:b']) compliance.governed({ ...event, callId, index: 12 });
      const { verdict, claims } = compliance.finish();
      return [verdict, claims['governed'], claims['undecided']];
    };
    const chain: [string, string][] = [
      ['import:b', 'import:a'],
      ['import:a', 'c1'],
    ];
    expect(judgeJoins(chain, { isDecided: true })).toEqual(['pass', 1, 0]);
    expect(judgeJoins(chain.toReversed(), { isDecided: false })).toEqual(['fail', 1, 1]);
    const both: [string, string][] = [
      ['import:a', 'c1'],
      ['import:b', 'c1'],
    ];
    expect(judgeJoins(both, { isDecided: true })).toEqual(['fail', 2, 1]);
    const circle: [string, string][] = [
      ['import:a', 'import:b'],
      ['import:b', 'import:a'],
    ];
    expect(judgeJoins(circle, { isDecided: true })[0]).toBe('fail');
  });
});

const at = '2026-01-01T12:00:00.000Z';

/** A leaf of a run, with the round in which a pass reads it. */
interface Leaf {
  readonly round: number;
  /** An id that the log has once. */
  readonly id?: string;
  tell(compliance: PolicyCompliance, index: number): void;
}

const no = fc.nat(4);
const leaf: fc.Arbitrary<Leaf> = fc.oneof(
  fc.record({ no, combined: fc.constantFrom('allow', 'deny', 'escalate') }).map(({ no: n, combined }) => ({
    round: 0,
    id: `pev_${n}`,
    tell: (to: PolicyCompliance, index: number) => {
      const opened = { ...approval, id: `apr_${n}` };
      to.evaluation(evaluated({ index, id: `pev_${n}`, combined, approval: opened, expiresMs: 500 }));
    },
  })),
  no.map((n) => ({
    round: 1,
    tell: (to: PolicyCompliance, index: number) => {
      const decided = { outcome: 'approved', approver: 'key_2', at } as const;
      to.approval({ index, evaluationId: `pev_${n}`, id: `apr_${n}`, ...decided });
    },
  })),
  fc.tuple(no, no).map(([n, by]) => ({
    round: 2,
    tell: (to: PolicyCompliance, index: number) =>
      to.use({ index, id: `apr_${n}`, evaluationId: `pev_${by}`, at }),
  })),
  fc
    .record({ no, isReport: fc.boolean(), isActive: fc.boolean(), serverMs: fc.constantFrom(0, 10_000_000) })
    .map(({ no: n, isReport, isActive, serverMs }) => ({
      round: 3,
      tell: (to: PolicyCompliance, index: number) => {
        const evaluationId = n === 4 ? null : `pev_${n}`;
        const more = { callId: `call_${n % 3}`, isReport, policyActive: isActive };
        to.governed({ index, evaluationId, serverMs, call: search, ...more });
      },
    })),
  fc.tuple(fc.nat(2), fc.nat(2)).map(([from, by]) => ({
    round: 3,
    tell: (to: PolicyCompliance) => to.joined({ from: `call_${from}`, to: `call_${by}` }),
  })),
);

interface Placed {
  readonly index: number;
  readonly each: Leaf;
}

/** Whether a leaf does not repeat the id of an earlier one. */
const once = () => {
  const seen = new Set<string>();
  return ({ each: { id } }: Placed): boolean => id === undefined || (!seen.has(id) && seen.add(id).size > 0);
};

function pass(leaves: readonly Placed[], compliance = new PolicyCompliance(noApprovers)): PolicyCompliance {
  const rounds = leaves.toSorted((a, b) => a.each.round - b.each.round || a.index - b.index);
  for (const { index, each } of rounds) each.tell(compliance, index);
  return compliance;
}

it('policy compliance that continues with later leaves equals one pass over all, or is overtaken', () => {
  const seen = { continued: 0, overtaken: 0 };
  const story = fc.array(leaf, { minLength: 2, maxLength: 24 });
  fc.assert(
    fc.property(story, fc.integer({ min: 1, max: 5 }), (leaves, step) => {
      const placed = leaves.map((each, index) => ({ each, index })).filter(once());
      let kept = new PolicyCompliance(noApprovers);
      for (let from = 0; from < placed.length; from += step) {
        pass(placed.slice(from, from + step), kept);
        const scratch = pass(placed.slice(0, from + step));
        if (kept.isOvertaken) {
          seen.overtaken++;
          kept = scratch;
        } else seen.continued++;
        expect(kept.finish()).toEqual(scratch.finish());
      }
    }),
    { seed: 3, numRuns: 1000 },
  );
  expect(Math.min(seen.continued, seen.overtaken)).toBeGreaterThan(100);
});
