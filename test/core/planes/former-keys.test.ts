/** Reports by keys of before: by those of their time, and by no others. */
import { describe, expect, it } from 'vitest';
import { checkReportBy, identitiesSince } from '../../../src/core/planes/former-keys.ts';
import { ReportingPlane } from '../../support/telemetry-plane.ts';

const home = {
  dataPlaneId: `dpl_${'0'.repeat(25)}1`,
  projectId: `prj_${'0'.repeat(25)}1`,
  environment: 'production',
} as const;

/** A plane with three pairs of keys, the first until 100, the second until 200; reports by each. */
function rekeyed() {
  const plane = new ReportingPlane({ name: 'a' }, home);
  const reports = [plane.work(3).report()];
  const formerKeys = [];
  for (const [name, untilMs] of [
    ['b', 100],
    ['c', 200],
  ] as const) {
    const { verifierKey, auditVerifierKey } = plane.identity;
    formerKeys.push({ verifierKey, auditVerifierKey, untilMs });
    plane.rekey(name);
    reports.push(plane.work(3).report());
  }
  return { identity: { ...plane.identity, formerKeys }, reports };
}

describe('the keys of a plane', () => {
  it('the keys of a plane are its current ones and those replaced since a time, newest first', () => {
    const { identity } = rekeyed();
    const { formerKeys, ...current } = identity;
    const keys = (sinceMs: number) =>
      identitiesSince(identity, sinceMs).map(({ verifierKey }) => verifierKey);
    const [first, second] = formerKeys.map(({ verifierKey }) => verifierKey);
    expect(identitiesSince(identity, 201)).toEqual([current]);
    expect(keys(200)).toEqual([current.verifierKey, second]);
    expect(keys(101)).toEqual([current.verifierKey, second]);
    expect(keys(100)).toEqual([current.verifierKey, second, first]);
  });

  it('a report is valid under the key that signed it, and its other faults are still reported', () => {
    const { identity, reports } = rekeyed();
    const faults = (sinceMs: number) =>
      reports.map((report) => checkReportBy(report, identitiesSince(identity, sinceMs))?.fault ?? null);
    expect(faults(0)).toEqual([null, null, null]);
    expect(faults(150)).toEqual(['checkpoint_signature_invalid', null, null]);
    expect(faults(201)).toEqual(['checkpoint_signature_invalid', 'checkpoint_signature_invalid', null]);
    const [first] = reports;
    const wrong = { ...first!, unmetered: 999 };
    expect(checkReportBy(wrong, identitiesSince(identity, 0))?.pointer).toBe('/unmetered');
  });
});
