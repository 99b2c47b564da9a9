/** The limits of a bundle file that take seconds to reach. The others are in `hostile.test.ts`. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { sample } from './log.ts';
import { disclosed as original, inEvents, mebibyte, withBytes } from './padded.ts';

describe('a large file', () => {
  const restBytes = (): number => {
    const { events } = sample({ disclose: () => true });
    return original.length - (Buffer.byteLength(JSON.stringify(events)) - 2);
  };

  it(
    'a file of the largest size is read, and of a larger one the verdict says so',
    { timeout: 120_000 },
    async () => {
      const most = limits.bundleBytes - original.length;
      expect((await withBytes(inEvents, most).verdict()).code).toBeNull();
      expect(await withBytes(inEvents, most + 1).verdict()).toMatchObject({
        verified: false,
        code: 'TOO_LARGE',
        layers: [],
      });
    },
  );

  it('the bytes that are not events have a limit of their own', { timeout: 60_000 }, async () => {
    const most = limits.bundleRestBytes - restBytes();
    expect((await withBytes(original.length, most).verdict()).code).toBeNull();
    const larger = withBytes(1, 4 * most);
    expect((await larger.verdict()).code).toBe('TOO_LARGE');
    expect(larger.pieces()).toBeLessThan(most / mebibyte + 2);
  });

  it('a string of 100 MB outside of the events is refused', { timeout: 60_000 }, async () => {
    const padding = Buffer.alloc(1024 * 1024, 0x61);
    const inNote = original.indexOf('"checkpoint":"') + '"checkpoint":"'.length;
    expect((await withBytes(inNote, 100 * 1024 * 1024, padding).verdict()).code).toBe('MALFORMED_BUNDLE');
  });
});
