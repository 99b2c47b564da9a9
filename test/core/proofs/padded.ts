import { verifyBundleFile } from '../../../src/core/proofs/verify.ts';
import { bytesOf, sample, trust } from './log.ts';

/** A bundle that discloses its events. */
export const disclosed = bytesOf(sample({ disclose: () => true }));

/** Where its first event begins. */
export const inEvents = disclosed.indexOf('"events":[') + '"events":['.length;

export const mebibyte = 1024 * 1024;
const blanks = Buffer.alloc(mebibyte, 0x20);

/** The bundle with more bytes at an offset, in pieces, and how many of the pieces were read. */
export function withBytes(at: number, bytes: number, fill: Buffer = blanks) {
  let pieces = 0;
  const read = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    yield disclosed.subarray(0, at);
    for (let left = bytes; left > 0; left -= fill.length) {
      pieces++;
      yield fill.subarray(0, Math.min(left, fill.length));
    }
    yield disclosed.subarray(at);
  };
  return { verdict: () => verifyBundleFile(read, trust), pieces: () => pieces };
}
