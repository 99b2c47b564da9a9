/**
 * The bytes of a bundle that a plane exported, changed in turn. What still verifies says the same as before: only
 * signature lines, the spelling of JSON and white space between its tokens can differ. `test/core/proofs/tamper.test.ts`
 * does this to a bundle without a second signature; `test/real/support/all.ts` flips all 8 bits of every byte.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseTrust, type Trust } from '../../src/core/note/checkpoint.ts';
import { verifyBundle } from '../../src/core/proofs/verify.ts';
import { type PlaneProcess, smallBundle, startPlaneProcess } from './support/plane.ts';
import { edits, flipped, meaningOf, signatureLines } from './support/mutations.ts';

/** Seconds on a machine of its own, minutes beside other work. */
const slow = { timeout: 300_000 };
let plane: PlaneProcess;
let bytes: Buffer;
let trust: Trust;
/** The same without the ML-DSA-44 key: those signature lines are then of an unknown key. */
let ed25519Only: Trust;

beforeAll(async () => {
  plane = await startPlaneProcess();
  bytes = readFileSync(await smallBundle(plane));
  trust = parseTrust(plane.trust);
  ed25519Only = { ...trust, keys: trust.keys.filter(({ algorithm }) => algorithm === 'ed25519') };
});
afterAll(() => plane.end());

const isVerified = (changed: Uint8Array, by: Trust): boolean => verifyBundle(changed, by).verified;
const everyPlace = (): number[] => [...bytes.keys()];

describe('an exported bundle', () => {
  it('an exported bundle verifies with both keys and with one key', () => {
    expect(trust.keys.map(({ algorithm }) => algorithm)).toEqual(['ed25519', 'ml-dsa-44']);
    expect(isVerified(bytes, trust)).toBe(true);
    expect(isVerified(bytes, ed25519Only)).toBe(true);
    expect(signatureLines(bytes).length).toBe(4);
  });

  it(
    'a bundle with a flipped bit verifies only when a signature line then names an unknown key',
    slow,
    () => {
      // one bit of a byte, another in the next; of the 2,420 bytes of an ML-DSA-44 signature every fifth character
      const bulk = signatureLines(bytes).map(({ start, end }) => ({ start: start + 120, end: end - 10 }));
      const places = everyPlace().filter(
        (at) => at % 5 === 0 || !bulk.some(({ start, end }) => at >= start && at < end),
      );
      const survivors = places.filter((at) => isVerified(flipped(bytes, at, (at * 5 + 3) % 8), trust));
      const keyNames = signatureLines(bytes).map(({ start }) => {
        const keyIdChars = 6; // 4 bytes of key id fill 5⅓ characters of base64
        return { start, end: bytes.indexOf(' ', start) + 1 + keyIdChars };
      });
      const outside = survivors.filter((at) => !keyNames.some(({ start, end }) => at >= start && at < end));
      expect(outside.map((at) => bytes.toString('utf8', at - 20, at + 20))).toEqual([]);
      expect(survivors.length).toBeGreaterThan(0);
    },
  );

  it('a bundle with a harmless flipped bit keeps its meaning, with one key and with two', slow, () => {
    const inNotes = everyPlace().filter((at) =>
      signatureLines(bytes).some(({ start, end }) => at >= start - 10 && at < end + 2 && at % 5 === 0),
    );
    const said = meaningOf(bytes);
    let survivors = 0;
    for (const at of inNotes) {
      const changed = flipped(bytes, at, at % 8);
      if (!isVerified(changed, ed25519Only)) continue;
      survivors += 1;
      expect(meaningOf(changed)).toBe(said);
    }
    expect(survivors).toBeGreaterThan(300);
  });

  it.each(Object.entries(edits))('an edited bundle keeps its meaning or is refused: %s', (_name, edit) => {
    const said = meaningOf(bytes);
    for (const at of everyPlace().filter((place) => place % 19 === 0)) {
      const changed = edit(bytes, at);
      if (changed.equals(bytes) || !isVerified(changed, trust)) continue;
      expect(meaningOf(changed)).toBe(said);
    }
  });

  it('a bundle may differ in white space, member order, escapes and exponents', () => {
    const value = JSON.parse(bytes.toString()) as Record<string, never>;
    const turned = Object.fromEntries(Object.entries(value).toReversed());
    const escaped = bytes.toString().replaceAll('gov.', '\\u0067ov.');
    const index = `"index":${value['proofLeaf']!['index'] as number}`;
    const spellings = [
      JSON.stringify(value, null, '\t'),
      `\r\n ${bytes.toString()}\n\n`,
      JSON.stringify(turned),
      escaped,
      bytes.toString().replace(index, `${index}.0e0`),
    ];
    for (const text of spellings) {
      expect(text).not.toBe(bytes.toString());
      expect(isVerified(Buffer.from(text), trust)).toBe(true);
      expect(meaningOf(Buffer.from(text))).toBe(meaningOf(bytes));
    }
  });

  it('a bundle in a spelling that two readers read differently is refused', () => {
    const text = bytes.toString();
    const refused = [
      `\ufeff${text}`,
      `${text}{}`,
      `${text},`,
      text.replace('{', '{"mediaType":"x",'),
      text.replace('{', '{"note":"x",'),
      text.replace('"mediaType":', '"mediatype":'),
      `[${text}]`,
    ];
    for (const spelling of refused) {
      expect(verifyBundle(Buffer.from(spelling), trust)).toMatchObject({
        verified: false,
        code: 'MALFORMED_BUNDLE',
      });
    }
  });
});
