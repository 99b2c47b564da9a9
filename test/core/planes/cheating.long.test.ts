/**
 * A data plane that cheats, with its own keys and with full knowledge of the protocol: what it reports looks right, and
 * it answers challenges as well as its log lets it. Rates are of fixed seeds, held to five standard deviations of the
 * binomial distribution around what `docs` state: 1 − (1 − f)^k.
 */
import { describe, expect, it } from 'vitest';
import type { TelemetryFault } from '../../../src/contract/telemetry.ts';
import { verifyAttestation, type AttestationResult } from '../../../src/core/planes/attestation.ts';
import {
  checkReport,
  checkSuccession,
  reportedHead,
  type Fault,
} from '../../../src/core/planes/usage-report.ts';
import type { UsageReport } from '../../../src/contract/telemetry.ts';
import { challengeFor, hashOf, plane, type Operation, TestPlane } from './log.ts';

const counted: Operation = { op: 'audit_event', units: 1, leaves: 1 };
const unmetered: Operation = { op: 'none', units: 0, leaves: 1 };
const follows = (previous: UsageReport, next: UsageReport): Fault | null =>
  checkSuccession(previous, hashOf(previous), next);

function attest(
  sender: TestPlane,
  asked: { seed: string; samples?: number; cross?: number; sizes?: number[] },
): AttestationResult {
  const report = sender.reports.at(-1)!;
  const challenge = challengeFor(report, asked);
  const earlier = sender.reports.slice(0, -1).map(reportedHead);
  return verifyAttestation({ challenge, report, proof: sender.answer(challenge), plane, earlier });
}

/** A plane with `size` counted operations, of which every n-th is cheated with. */
function cheating(size: number, every: number, cheat: Operation): TestPlane {
  const sender = new TestPlane();
  // the first and the last unit are always asked for: leave them honest, so that the rate is that of the drawn ones
  for (let n = 0; n < size; n++) sender.append(n % every === every >> 1 ? cheat : counted);
  return sender;
}

/** How often, and with which words, a plane is found out over many challenges for one report. */
function rate(sender: TestPlane, asked: { samples: number; cross: number }, seeds: number) {
  const report = sender.report();
  expect(checkReport(report, plane)).toBeNull();
  const faults = new Set<TelemetryFault>();
  let caught = 0;
  for (let seed = 0; seed < seeds; seed++) {
    const { fault } = attest(sender, { seed: `rate ${seed}`, ...asked });
    if (fault === null) continue;
    caught += 1;
    faults.add(fault.fault);
  }
  return { caught: caught / seeds, faults: [...faults] };
}

const within = (expected: number, seeds: number) => 5 * Math.sqrt((expected * (1 - expected)) / seeds);

describe('a plane that mislabels operations', () => {
  const seeds = 250;
  it.each([
    [100, 1 - 0.99 ** 64, 0.47],
    [20, 1 - 0.95 ** 64, 0.96],
  ])(
    'a plane that mislabels one of %d operations is caught with this probability',
    (every, probability, stated) => {
      expect(probability).toBeCloseTo(stated, 2);
      const sender = cheating(1000, every, { ...counted, counted: 'replay_verification' });
      const { caught, faults } = rate(sender, { samples: 64, cross: 0 }, seeds);
      expect(Math.abs(caught - probability)).toBeLessThan(within(probability, seeds));
      expect(faults).toEqual(['totals_sum_mismatch']);
    },
  );

  it('a plane that raises a total in unmetered leaves is caught as often', () => {
    const sender = cheating(1000, 20, { ...counted, op: 'none', counted: 'audit_event' });
    const { caught, faults } = rate(sender, { samples: 64, cross: 0 }, 100);
    expect(caught).toBeGreaterThan(0.8);
    expect(faults).toEqual(['op_type_invalid']);
  });

  it('a plane is caught when one leaf raises a second total beside its own', () => {
    const sender = new TestPlane().work(10);
    const { totals } = sender;
    const raised = {
      ...totals,
      audit_event: totals.audit_event + 1,
      risk_decision: totals.risk_decision + 1,
    };
    sender.append({ ...counted, totals: raised }).report();
    // the last unit is always asked for
    expect(attest(sender, { seed: 'second', samples: 0, cross: 0 }).fault).toMatchObject({
      fault: 'totals_sum_mismatch',
    });
  });

  it('an honest plane that does the same work is never accused', () => {
    expect(rate(cheating(1000, 20, counted), { samples: 64, cross: 8 }, 100)).toEqual({
      caught: 0,
      faults: [],
    });
  });
});

describe('a plane that does not count its records', () => {
  it('a plane that does not count its records is caught by audit leaves without metering leaf', () => {
    const sender = cheating(600, 5, { ...counted, dropped: true });
    const probability = 1 - 0.8 ** 8;
    const { caught, faults } = rate(sender, { samples: 4, cross: 8 }, 200);
    expect(Math.abs(caught - probability)).toBeLessThan(within(probability, 200));
    expect(faults).toEqual(['cross_reference_invalid']);
  });

  it('a plane is caught when batches of events count as fewer units', () => {
    const sender = cheating(200, 10, { op: 'audit_event', units: 1, leaves: 3 });
    const probability = 1 - (1 - (3 * 20) / sender.audit.size) ** 8;
    const { caught, faults } = rate(sender, { samples: 64, cross: 8 }, 200);
    expect(Math.abs(caught - probability)).toBeLessThan(within(probability, 200));
    expect(faults).toEqual(['totals_sum_mismatch']);
  });

  it('a plane cannot report fewer units than it has metered leaves', () => {
    const sender = new TestPlane().work(5);
    sender.report();
    const before = sender.totals;
    sender.work(40);
    const full = sender.report();
    // its totals fall back in the middle of the period and rise again: no unit is without a leaf that reaches it
    const cheat = new TestPlane().work(5);
    cheat.report();
    cheat.work(40);
    cheat.append({ ...unmetered, totals: before });
    const report = cheat.append(counted).report();
    expect(report.operations.audit_event).toBeLessThan(full.operations.audit_event);
    expect(checkReport(report, plane)).toMatchObject({
      fault: 'totals_sum_mismatch',
      pointer: '/operations',
    });
  });
});

describe('a plane whose totals fall', () => {
  it('a plane whose totals fall is refused by the next report or a challenge for that leaf', () => {
    const sender = new TestPlane().work(30);
    const first = sender.report();
    const { totals } = sender;
    const fallen = { ...totals, audit_event: 0, risk_decision: totals.risk_decision + 500 };
    sender.append({ ...unmetered, totals: fallen });
    sender.append(counted);
    const second = sender.report();
    expect(follows(first, second)).toMatchObject({
      fault: 'totals_not_monotonic',
      pointer: '/totals/audit_event',
    });
    const challenge = challengeFor(second, { seed: 'fall', samples: 0, cross: 0, from: 499 });
    const proof = sender.answer(challenge);
    const result = verifyAttestation({ challenge, report: second, proof, plane, earlier: [] });
    expect(result.fault).toMatchObject({ fault: 'totals_not_monotonic', pointer: '/samples/0/record' });
  });
});

describe('a plane that rewrites its history', () => {
  /** The plane it says it was all along. */
  const rewritten = (): TestPlane => new TestPlane().append({ op: 'none', units: 0, leaves: 3 });

  it('a plane that rewrites its history is refused at the next report', () => {
    const sender = new TestPlane().work(40);
    const first = sender.report();
    const other = rewritten().work(60);
    other.reports.push(first);
    const second = other.report();
    expect(follows(first, { ...second, operations: difference(second, first) })).toMatchObject({
      fault: expect.stringMatching(/^(?:consistency_invalid|totals_not_monotonic)$/),
    });
  });

  it('a rewritten history is refused by a challenge for an earlier size, even without reports between', () => {
    const sender = new TestPlane().work(40);
    const first = sender.report();
    const other = rewritten().work(80);
    const report = other.report();
    const challenge = challengeFor(report, { seed: 'rewritten', sizes: [first.log.treeSize] });
    const proof = other.answer(challenge);
    const { fault } = verifyAttestation({ challenge, report, proof, plane, earlier: [reportedHead(first)] });
    expect(fault).toMatchObject({ fault: 'consistency_invalid', pointer: '/consistency/0/path' });
  });

  it('a plane that reports fewer leaves than before is refused', () => {
    const first = new TestPlane().work(40).report();
    const restored = new TestPlane().work(20);
    const again = restored.report();
    const next = { ...again, sequence: 2, previousReportHash: hashOf(first), periodStart: first.periodEnd };
    const log = { ...again.log, fromSize: first.log.treeSize };
    expect(checkReport({ ...next, periodEnd: first.periodEnd, log }, plane)).toMatchObject({
      fault: 'history_regressed',
      pointer: '/log/treeSize',
    });
    expect(follows(first, next)).toMatchObject({ fault: 'history_regressed', pointer: '/log/fromSize' });
  });
});

describe('a plane that forks its log', () => {
  it('a plane that forks its log cannot prove both heads of one size', () => {
    const [left, right] = [new TestPlane({ seed: 'left' }), new TestPlane({ seed: 'right' })];
    const heads = [left, right].map((sender) => reportedHead(sender.work(20).report()));
    const report = left.work(20).report();
    const challenge = challengeFor(report, { seed: 'fork', sizes: [heads[0]!.size] });
    const proof = left.answer(challenge);
    const input = { challenge, report, proof, plane };
    expect(heads[0]!.size).toBe(heads[1]!.size);
    expect(verifyAttestation({ ...input, earlier: [heads[0]!] }).fault).toBeNull();
    expect(verifyAttestation({ ...input, earlier: heads }).fault).toMatchObject({
      fault: 'consistency_invalid',
    });
  });
});

describe('a plane that repeats an earlier answer', () => {
  it('a plane cannot answer a challenge with an earlier answer, whatever it changes in it', () => {
    const sender = new TestPlane().work(100);
    const report = sender.report();
    const [old, fresh] = [challengeFor(report, { seed: 'old' }), challengeFor(report, { seed: 'fresh' })];
    const before = sender.answer(old);
    const { challengeId } = fresh;
    const verify = (proof: typeof before) =>
      verifyAttestation({ challenge: fresh, report, proof, plane, earlier: [] }).fault;
    expect(() => verify(before)).toThrow('of the challenge');
    expect(verify({ ...before, challengeId })).toMatchObject({ fault: 'checkpoint_signature_invalid' });
    expect(verify(sender.signed(fresh, { ...before, challengeId }))).toMatchObject({
      fault: 'sample_set_mismatch',
    });
  });
});

function difference(next: UsageReport, previous: UsageReport): UsageReport['operations'] {
  const entries = Object.entries(next.totals) as [keyof UsageReport['totals'], number][];
  return Object.fromEntries(
    entries.map(([type, total]) => [type, Math.max(0, total - previous.totals[type])]),
  ) as UsageReport['operations'];
}
