/** What a challenge asks for: known answers (computed with Python's hashlib), bounds, and an even draw. */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { Challenge } from '../../../src/contract/telemetry.ts';
import { challengeId, crossIndexes, sampledUnits } from '../../../src/core/planes/challenge.ts';
import { challengeFor, TestPlane } from './log.ts';
import { seeded } from '../proofs/log.ts';

const challenge = challengeFor(new TestPlane().work(10).report(), { seed: 'x' });
const asking = (changes: Partial<Challenge>): Challenge => ({ ...challenge, ...changes });

describe('a challenge id', () => {
  it('a challenge id is 256 bits in base32, the highest bits first', () => {
    expect(challengeId(Buffer.alloc(32))).toBe(`chl_${'0'.repeat(52)}`);
    expect(challengeId(Buffer.alloc(32, 255))).toBe(`chl_1${'z'.repeat(51)}`);
    expect(challengeId(Buffer.from([...Array<number>(31).fill(0), 33]))).toBe(`chl_${'0'.repeat(50)}11`);
    expect(() => challengeId(Buffer.alloc(31))).toThrow('32 random bytes');
  });

  it('different bytes give different challenge ids', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.nat(255), (bytes, bit) => {
        const turned = Uint8Array.from(bytes);
        turned[bit >> 3]! ^= 1 << (bit & 7);
        expect(challengeId(bytes)).toMatch(/^chl_[0-9a-hjkmnp-tv-z]{52}$/);
        expect(challengeId(turned)).not.toBe(challengeId(bytes));
      }),
    );
  });
});

describe('sampled units', () => {
  const number = (label: string, seed: string, draw: number, range: number): number => {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(draw);
    const hash = createHash('sha256')
      .update(label)
      .update(Buffer.from(seed, 'hex'))
      .update(counter)
      .digest('hex');
    return Number(BigInt(`0x${hash.slice(0, 32)}`) % BigInt(range));
  };

  it('sampled units and cross indexes have their known values', () => {
    const known = { seed: '00'.repeat(32), sampleSize: 4, unitRange: { from: 1000, to: 1_001_000 } };
    expect(sampledUnits(asking(known))).toEqual([1001, 506767, 552782, 587454, 902133, 1001000]);
    expect(crossIndexes(asking({ ...known, crossSampleSize: 3, auditTreeSize: 1_000_001 }))).toEqual([
      688232, 712971, 717243,
    ]);
  });

  it('sampled units are the first, last and drawn units of the range, each once, ascending', () => {
    const range = fc.record({ from: fc.nat(2 ** 40), length: fc.integer({ min: 1, max: 5000 }) });
    fc.assert(
      fc.property(
        range,
        fc.nat(limits.attestationSamples),
        fc.string(),
        ({ from, length }, sampleSize, text) => {
          const seed = seeded(text, 32).toString('hex');
          const units = sampledUnits(asking({ seed, sampleSize, unitRange: { from, to: from + length } }));
          const drawn = Array.from(
            { length: sampleSize },
            (_, n) => from + 1 + number('gov.attest/v1\n', seed, n, length),
          );
          expect(new Set(units)).toEqual(new Set([from + 1, from + length, ...drawn]));
          expect(units).toEqual([...new Set(units)].toSorted((a, b) => a - b));
        },
      ),
    );
  });

  it('an empty range has no sampled units', () => {
    expect(sampledUnits(asking({ unitRange: { from: 7, to: 7 } }))).toEqual([]);
    expect(sampledUnits(asking({ unitRange: { from: 7, to: 8 } }))).toEqual([8]);
  });

  it('sampled units reach the largest numbers', () => {
    const to = Number.MAX_SAFE_INTEGER;
    const units = sampledUnits(asking({ unitRange: { from: 0, to } }));
    expect(units.length).toBe(limits.attestationSamples + 2);
    expect(units.every((unit) => Number.isSafeInteger(unit) && unit >= 1 && unit <= to)).toBe(true);
  });

  it('drawn indexes are spread evenly', () => {
    const counts = Array<number>(10).fill(0);
    for (let n = 0; n < 500; n++) {
      const seed = seeded(`even ${n}`, 32).toString('hex');
      for (const index of crossIndexes(asking({ seed, crossSampleSize: 1, auditTreeSize: 11 })))
        counts[index - 1]!++;
    }
    expect(Math.min(...counts)).toBeGreaterThan(20);
    expect(Math.max(...counts)).toBeLessThan(90);
  });

  it('a challenge beyond the limits is refused, so that no service can ask a plane for more', () => {
    const { attestationSamples: most, attestationCrossSamples: mostCross } = limits;
    expect(() => sampledUnits(asking({ sampleSize: most }))).not.toThrow();
    expect(() => sampledUnits(asking({ sampleSize: most + 1 }))).toThrow(`at most ${most}`);
    expect(() => crossIndexes(asking({ crossSampleSize: mostCross }))).not.toThrow();
    expect(() => crossIndexes(asking({ crossSampleSize: mostCross + 1 }))).toThrow(`at most ${mostCross}`);
    expect(() => sampledUnits(asking({ unitRange: { from: 2, to: 1 } }))).toThrow(
      'ends at or after its start',
    );
    expect(() => sampledUnits(asking({ seed: 'AB'.repeat(32) }))).toThrow('64 hex digits');
    expect(() => crossIndexes(asking({ seed: '' }))).toThrow('64 hex digits');
  });
});

describe('cross indexes', () => {
  it('cross indexes are in the audit log and never its first leaf', () => {
    fc.assert(
      fc.property(fc.nat(50), fc.string(), (auditTreeSize, text) => {
        const indexes = crossIndexes(asking({ seed: seeded(text, 32).toString('hex'), auditTreeSize }));
        expect(indexes.every((index) => index >= 1 && index < auditTreeSize)).toBe(true);
        expect(indexes.length > 0).toBe(auditTreeSize > 1);
      }),
    );
  });
});
