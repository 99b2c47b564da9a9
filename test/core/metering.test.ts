/** Metering leaves: a known answer, totals, and what a reference binds. */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { meteredTypes } from '../../src/contract/operation.ts';
import { canonicalize } from '../../src/core/json.ts';
import { addUnits, meterRecord, meterRef, zeroTotals } from '../../src/core/metering.ts';
import { leafHash, merkleRoot } from '../../src/core/merkle.ts';

const hash = (byte: number): Buffer => Buffer.alloc(32, byte);

describe('totals', () => {
  it('begin at zero for every metered type, and cannot be changed', () => {
    expect(zeroTotals).toEqual(Object.fromEntries(meteredTypes.map((type) => [type, 0])));
    expect(Object.isFrozen(zeroTotals)).toBe(true);
  });

  it('rise by the units of one type alone', () => {
    const once = addUnits(zeroTotals, 'audit_event', 500);
    expect(addUnits(once, 'compliance_proof', 1)).toEqual({
      ...zeroTotals,
      audit_event: 500,
      compliance_proof: 1,
    });
    expect(zeroTotals.audit_event).toBe(0);
  });

  it('stay as they are for leaves that are not metered', () => {
    expect(addUnits(zeroTotals, 'none', 0)).toBe(zeroTotals);
  });

  it.each([
    ['none', 1],
    ['audit_event', 0],
    ['audit_event', -1],
    ['audit_event', 1.5],
    ['audit_event', NaN],
    ['audit_event', 2 ** 53],
  ] as const)('refuse %s with %d units', (op, units) => {
    expect(() => addUnits(zeroTotals, op, units)).toThrow(/unit/);
  });
});

describe('a metering leaf', () => {
  it('is this text', () => {
    const totals = addUnits(zeroTotals, 'audit_event', 2);
    const leaf = { op: 'audit_event', units: 2, at: '2026-01-01T00:00:00.000Z', ref: 'r', totals } as const;
    expect(meterRecord(leaf)).toBe(
      '{"at":"2026-01-01T00:00:00.000Z","op":"audit_event","ref":"r",' +
        '"totals":{"audit_event":2,"compliance_proof":0,"replay_verification":0,"risk_decision":0},' +
        '"type":"gov.meter/1","units":2}',
    );
    expect(meterRecord(leaf)).toBe(canonicalize({ type: 'gov.meter/1', ...leaf }));
  });
});

describe('a reference', () => {
  it('is the hash of label, nonce, first index, count and root', () => {
    const leaves = [leafHash('a'), leafHash('b'), leafHash('c')];
    const preimage = Buffer.concat([
      Buffer.from('gov.meterref/v1\n'),
      Buffer.alloc(16, 7),
      Buffer.from('001fffffffffffff', 'hex'),
      Buffer.from('00000003', 'hex'),
      merkleRoot(leaves),
    ]);
    expect(meterRef(Buffer.alloc(16, 7), 2 ** 53 - 1, leaves)).toBe(
      createHash('sha256').update(preimage).digest('base64url'),
    );
  });

  it('changes with each of its parts', () => {
    const index = fc.nat({ max: 2 ** 31 });
    fc.assert(
      fc.property(index, fc.array(fc.nat({ max: 255 }), { maxLength: 20 }), (first, bytes) => {
        const leaves = bytes.map(hash);
        const ref = meterRef(hash(1).subarray(0, 16), first, leaves);
        expect(ref).toMatch(/^[\w-]{43}$/);
        expect(meterRef(hash(2).subarray(0, 16), first, leaves)).not.toBe(ref);
        expect(meterRef(hash(1).subarray(0, 16), first + 1, leaves)).not.toBe(ref);
        expect(meterRef(hash(1).subarray(0, 16), first, [...leaves, hash(9)])).not.toBe(ref);
      }),
    );
  });
});
