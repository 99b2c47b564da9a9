/**
 * The hashes of node:crypto that the library and the verifiers use, for runtimes without Node, over @noble: they are
 * synchronous there, which WebCrypto is not. `scripts/library.ts` puts this file in the place of node:crypto, and
 * `signatures.ts` for what verifies signatures.
 * Tested by `test/client/web/crypto.test.ts` against node:crypto (Wycheproof), and in a browser by
 * `test/client/web/browser.long.test.ts`.
 */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { Buffer } from './buffer.ts';

type Data = string | Uint8Array;
type TextEncoding = 'hex' | 'base64' | 'base64url' | 'binary' | 'buffer';

const bytesOf = (data: Data): Uint8Array => (typeof data === 'string' ? Buffer.from(data) : data);

const encoded = (bytes: Uint8Array, encoding?: TextEncoding): string | Buffer => {
  const buffer = Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
  return encoding === undefined || encoding === 'buffer' ? buffer : buffer.toString(encoding);
};

function requireSha256(algorithm: string): void {
  if (algorithm !== 'sha256') throw new TypeError(`expected sha256, got ${algorithm}`);
}

export function hash(algorithm: string, data: Data, encoding: TextEncoding = 'hex'): string | Buffer {
  requireSha256(algorithm);
  return encoded(sha256(bytesOf(data)), encoding);
}

interface Incremental {
  update(data: Uint8Array): Incremental;
  digest(): Uint8Array;
  clone?(): Incremental;
}

/** A hash or an HMAC that takes its input piece by piece. */
class Hasher {
  readonly #state: Incremental;

  constructor(state: Incremental) {
    this.#state = state;
  }

  update(data: Data): this {
    this.#state.update(bytesOf(data));
    return this;
  }

  copy(): Hasher {
    const copy = this.#state.clone?.();
    if (copy === undefined) throw new TypeError('expected a state that can be copied');
    return new Hasher(copy);
  }

  digest(encoding?: TextEncoding): string | Buffer {
    return encoded(this.#state.digest(), encoding);
  }
}

export function createHash(algorithm: string): Hasher {
  requireSha256(algorithm);
  return new Hasher(sha256.create());
}

export function createHmac(algorithm: string, key: Data): Hasher {
  requireSha256(algorithm);
  return new Hasher(hmac.create(sha256, bytesOf(key)));
}

export const randomUUID = (): string => crypto.randomUUID();

/** Throws RangeError for different lengths, as in Node. */
export function timingSafeEqual(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) throw new RangeError('expected two inputs of one length');
  let difference = 0;
  for (const [at, byte] of left.entries()) difference |= byte ^ (right[at] ?? 0);
  return difference === 0;
}
