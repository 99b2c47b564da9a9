/** Metering leaves: a known answer, totals, and what a reference binds. */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { meteredTypes } from '../../../src/contract/operation.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import {
  addUnits,
  type MeterLeaf,
  meterRecord,
  meterRef,
  meterRefOf,
  parseMeterRecord,
  sumOf,
  zeroTotals,
} from '../../../src/core/planes/metering.ts';
import { leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';

const hash = (byte: number): Buffer => Buffer.alloc(32, byte);

describe('metering totals', () => {
  it('metering totals begin at zero for every metered type and cannot be changed', () => {
    expect(zeroTotals).toEqual(Object.fromEntries(meteredTypes.map((type) => [type, 0])));
    expect(Object.isFrozen(zeroTotals)).toBe(true);
  });

  it('metering totals rise by the units of one type alone', () => {
    const once = addUnits(zeroTotals, 'audit_event', 500);
    expect(addUnits(once, 'compliance_proof', 1)).toEqual({
      ...zeroTotals,
      audit_event: 500,
      compliance_proof: 1,
    });
    expect(zeroTotals.audit_event).toBe(0);
  });

  it('metering totals do not change for unmetered leaves', () => {
    expect(addUnits(zeroTotals, 'none', 0)).toBe(zeroTotals);
  });

  it.each([
    ['none', 1],
    ['audit_event', 0],
    ['audit_event', -1],
    ['audit_event', 1.5],
    ['audit_event', NaN],
    ['audit_event', 2 ** 53],
  ] as const)('metering totals refuse %s with %d units', (op, units) => {
    expect(() => addUnits(zeroTotals, op, units)).toThrow(/unit/);
  });
});

describe('a metering leaf', () => {
  it('a metering leaf has exactly this text', () => {
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

describe('a metering record', () => {
  const ref = Buffer.alloc(32, 5).toString('base64url');
  const at = '2026-01-01T00:00:00.000Z';
  const totals = { audit_event: 12, compliance_proof: 3, replay_verification: 0, risk_decision: 1 };
  const leaf: MeterLeaf = { op: 'audit_event', units: 2, at, ref, totals };

  it('a metering record is read as the leaf from which it was written', () => {
    const count = fc.oneof(fc.nat(3), fc.nat(2 ** 50));
    const counts = fc.record({
      audit_event: count,
      compliance_proof: count,
      replay_verification: count,
      risk_decision: count,
    });
    const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(
        fc.constantFrom(...meteredTypes, 'none' as const),
        fc.nat(9),
        counts,
        bytes,
        (op, more, base, hash) => {
          const units = op === 'none' ? 0 : more + 1;
          const written = {
            op,
            units,
            at,
            ref: Buffer.from(hash).toString('base64url'),
            totals: addUnits(base, op, units),
          };
          expect(parseMeterRecord(meterRecord(written))).toEqual(written);
        },
      ),
    );
  });

  it.each([
    ['another type', (text: string) => text.replace('gov.meter/1', 'gov.meter/2')],
    ['an unknown op', (text: string) => text.replace('"audit_event","ref"', '"audit","ref"')],
    ['an inherited name as op', (text: string) => text.replace('"audit_event","ref"', '"constructor","ref"')],
    ['a space', (text: string) => text.replace(',"op"', ', "op"')],
    [
      'another order',
      (text: string) =>
        canonicalize(JSON.parse(text) as never).replace(/^\{("at":"[^"]+"),("op":"[^"]+")/, '{$2,$1'),
    ],
    ['a member more', (text: string) => text.replace('"units":2', '"units":2,"x":1')],
    [
      'a total twice',
      (text: string) => text.replace('"audit_event":12', '"audit_event":12,"audit_event":12'),
    ],
    ['a line break after it', (text: string) => `${text}\n`],
    ['an escape', (text: string) => text.replace('"at"', '"\\u0061t"')],
    ['a number with an exponent', (text: string) => text.replace(':12', ':1.2e1')],
    ['a number with a zero before it', (text: string) => text.replace(':12', ':012')],
    ['a negative number', (text: string) => text.replace(':3,', ':-3,')],
    ['a number beyond 2^53-1', (text: string) => text.replace(':12', ':9007199254740992')],
    ['a sum beyond 2^53-1', (text: string) => text.replace(':12', ':9007199254740990')],
    ['more units than its total', (text: string) => text.replace('"units":2', '"units":13')],
    ['no units', (text: string) => text.replace('"units":2', '"units":0')],
    ['units of none', (text: string) => text.replace('"audit_event","ref"', '"none","ref"')],
    ['a day that is not', (text: string) => text.replace('2026-01-01', '2026-02-30')],
    ['a time with an offset', (text: string) => text.replace('00:00.000Z', '00+01:00Z')],
    ['a time without Z', (text: string) => text.replace('000Z', '0000')],
    [
      'a time in microseconds',
      (text: string) => text.replace('T00:00:00.000Z', 'T00:00:00.00000Z').replace('2026', '26'),
    ],
    ['a ref of other bits', (text: string) => text.replace(`${ref}"`, `${ref.slice(0, -1)}V"`)],
    ['a short ref', (text: string) => text.replace(`${ref}"`, `${ref.slice(1)}"`)],
    ['nothing', () => ''],
  ])('a metering record with %s is refused', (_what, change) => {
    const record = meterRecord(leaf);
    expect(parseMeterRecord(record)).toEqual(leaf);
    expect(change(record)).not.toBe(record);
    expect(parseMeterRecord(change(record))).toBeNull();
  });

  it('sumOf counts units over all types', () => {
    expect(sumOf(totals)).toBe(16);
    expect(sumOf(zeroTotals)).toBe(0);
  });
});

describe('a metering reference', () => {
  it('a metering reference is the hash of label, nonce, first index, count and root', () => {
    const leaves = [leafHash('a'), leafHash('b'), leafHash('c')];
    const preimage = Buffer.concat([
      Buffer.from('gov.meterref/v1\n'),
      Buffer.alloc(16, 7),
      Buffer.from('001fffffffffffff', 'hex'),
      Buffer.from('00000003', 'hex'),
      merkleRoot(leaves),
    ]);
    const ref = createHash('sha256').update(preimage).digest('base64url');
    const nonce = Buffer.alloc(16, 7);
    expect(meterRef(nonce, 2 ** 53 - 1, leaves)).toBe(ref);
    expect(meterRefOf({ nonce, firstIndex: 2 ** 53 - 1, count: 3, root: merkleRoot(leaves) })).toBe(ref);
  });

  it('a metering reference changes with each of its parts', () => {
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
