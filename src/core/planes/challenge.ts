/**
 * The samples of a challenge: units of the metering log and leaves of the audit log of a data plane. The service chooses a
 * seed after it stored the report. Both sides compute the same numbers from the seed:
 *
 *   from + 1 + (first 16 bytes of SHA-256("gov.attest/v1\n" || seed || u32be(j)) as an integer) mod (to − from)
 *
 * for j = 0 … sampleSize − 1, plus the first and the last unit of the range. The modulus is less than 2^53, so the
 * probabilities of numbers differ by at most 2^-75. Proven by `test/core/planes/challenge.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { Challenge } from '../../contract/telemetry.ts';
import { sha256 } from '../hash.ts';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Returns `chl_` and 52 characters of base32 with 256 random bits, highest first. Throws for another length. */
export function challengeId(random32: Uint8Array): string {
  if (random32.length !== 32) throw new Error(`expected 32 random bytes, got ${random32.length}`);
  let rest = BigInt(`0x${Buffer.from(random32).toString('hex')}`);
  let digits = '';
  for (let at = 0; at < 52; at++) {
    digits = (alphabet[Number(rest & 31n)] ?? '') + digits;
    rest >>= 5n;
  }
  return `chl_${digits}`;
}

/**
 * Returns the distinct units of a challenge, ascending: at most `sampleSize` + 2, none for an empty range. Throws
 * VALIDATION_ERROR for more than `limits.attestationSamples`, or for a range that ends before it begins.
 */
export function sampledUnits({ seed, sampleSize, unitRange }: Challenge): number[] {
  const { from, to } = unitRange;
  if (from > to) throw refused('a range of units that ends at or after its start', `(${from}, ${to}]`);
  const asked = { seed, sampleSize, most: limits.attestationSamples };
  const drawn = draw('gov.attest/v1\n', asked, { first: from + 1, end: to + 1 });
  return from === to ? [] : ascending([from + 1, ...drawn, to]);
}

/**
 * Returns the distinct audit log indexes of a challenge, ascending: at most `crossSampleSize`, in [1, auditTreeSize),
 * because leaf 0 only names the log. Throws VALIDATION_ERROR for more than `limits.attestationCrossSamples`.
 */
export function crossIndexes({ seed, crossSampleSize, auditTreeSize }: Challenge): number[] {
  const asked = { seed, sampleSize: crossSampleSize, most: limits.attestationCrossSamples };
  return ascending(draw('gov.attest.cross/v1\n', asked, { first: 1, end: auditTreeSize }));
}

/** Draws numbers in [first, end), with repetitions. */
function draw(
  label: string,
  { seed, sampleSize, most }: { seed: string; sampleSize: number; most: number },
  { first, end }: { first: number; end: number },
): number[] {
  if (sampleSize > most) throw refused(`at most ${most} samples`, sampleSize);
  if (!/^[0-9a-f]{64}$/.test(seed))
    throw refused('a seed of 64 hex digits', JSON.stringify(seed.slice(0, 64)));
  if (end <= first) return [];
  const preimage = Buffer.concat([Buffer.from(label), Buffer.from(seed, 'hex'), Buffer.alloc(4)]);
  return Array.from({ length: sampleSize }, (_, nth) => {
    preimage.writeUInt32BE(nth, preimage.length - 4);
    const random = BigInt(`0x${sha256(preimage).toString('hex', 0, 16)}`);
    return first + Number(random % BigInt(end - first));
  });
}

const ascending = (numbers: readonly number[]): number[] => [...new Set(numbers)].sort((a, b) => a - b);

const refused = (expected: string, got: string | number): GovError =>
  new GovError('VALIDATION_ERROR', `challenge: expected ${expected}, got ${got}`);
