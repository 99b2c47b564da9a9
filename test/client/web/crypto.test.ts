/** What stands in for node:crypto outside of Node gives the same answers. */
import * as node from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ed25519 } from '@noble/curves/ed25519.js';
import { createHash, createHmac, hash, timingSafeEqual } from '../../../src/client/web/crypto.ts';
import { createPublicKey, sign, verify } from '../../../src/client/web/signatures.ts';
import { hasMlDsa44, signatureSizes } from '../../../src/core/note/signature.ts';
import { hasVectors, vectors } from '../../paths.ts';

const bytes = fc.uint8Array({ maxLength: 300 });

describe('the hashes without Node', () => {
  it('a hash of any bytes or text has the same spelling as in Node', () => {
    const data = fc.oneof(bytes, fc.string({ unit: 'binary' }));
    fc.assert(
      fc.property(data, fc.constantFrom('hex', 'base64', 'base64url', 'binary'), (value, encoding) => {
        expect(hash('sha256', value, encoding as 'hex')).toBe(node.hash('sha256', value, encoding as 'hex'));
      }),
    );
  });

  it('a hash and an HMAC of pieces are those of Node', () => {
    fc.assert(
      fc.property(bytes, fc.array(bytes), (key, pieces) => {
        const [mine, theirs] = [createHash('sha256'), node.createHash('sha256')];
        const [myMac, theirMac] = [createHmac('sha256', key), node.createHmac('sha256', key)];
        for (const piece of pieces) {
          mine.update(piece);
          theirs.update(piece);
          myMac.update(piece);
          theirMac.update(piece);
        }
        expect(mine.copy().digest('hex')).toBe(theirs.copy().digest('hex'));
        expect(myMac.digest('hex')).toBe(theirMac.digest('hex'));
      }),
    );
  });

  it('another algorithm than SHA-256 is refused', () => {
    expect(() => hash('sha1', '')).toThrow('expected sha256, got sha1');
    expect(() => createHash('md5')).toThrow('expected sha256, got md5');
  });

  it('a comparison in constant time compares all bytes, and throws for different lengths', () => {
    expect(timingSafeEqual(Uint8Array.of(1, 2), Uint8Array.of(1, 2))).toBe(true);
    expect(timingSafeEqual(Uint8Array.of(1, 2), Uint8Array.of(1, 3))).toBe(false);
    expect(() => timingSafeEqual(Uint8Array.of(1), Uint8Array.of(1, 2))).toThrow(RangeError);
  });
});

type Algorithm = keyof typeof signatureSizes;

/** Whether a signature verifies, in both implementations; a key that cannot be read verifies nothing. */
function verdicts(
  algorithm: Algorithm,
  given: Readonly<Record<'key' | 'message' | 'signature', Uint8Array>>,
) {
  const key = Buffer.concat([signatureSizes[algorithm].spkiPrefix, given.key]);
  const attempt = (run: () => boolean): boolean => {
    try {
      return run();
    } catch {
      return false;
    }
  };
  return {
    web: attempt(() => verify(null, given.message, createPublicKey({ key }), given.signature)),
    node: attempt(() => {
      const object = node.createPublicKey({ key, format: 'der', type: 'spki' });
      return node.verify(null, given.message, object, given.signature);
    }),
  };
}

interface Group {
  readonly publicKey: { readonly pk: string } | string;
  readonly tests: readonly {
    readonly msg: string;
    readonly sig: string;
    readonly ctx?: string;
    readonly result: string;
  }[];
}

describe.runIf(hasVectors)('the signatures of Wycheproof', () => {
  it.each([
    ['ed25519', 'ed25519_test.json'],
    ['ml-dsa-44', 'mldsa_44_verify_test.json'],
  ] as const)('every %s signature gets the verdict of Node', (algorithm, file) => {
    const text = readFileSync(vectors(`wycheproof/${file}`), 'utf8');
    const { testGroups } = JSON.parse(text) as { testGroups: readonly Group[] };
    const hex = (value: string): Buffer => Buffer.from(value, 'hex');
    let valid = 0;
    for (const { publicKey, tests } of testGroups) {
      const key = hex(typeof publicKey === 'string' ? publicKey : publicKey.pk);
      for (const { msg, sig, ctx = '', result } of tests) {
        // the library signs with an empty context, and checks the length of keys first
        if (ctx !== '' || key.length !== signatureSizes[algorithm].publicKeyBytes) continue;
        const { web, node: ours } = verdicts(algorithm, { key, message: hex(msg), signature: hex(sig) });
        if (algorithm === 'ed25519' || hasMlDsa44()) expect(web).toBe(ours);
        expect(web).toBe(result === 'valid');
        valid += web ? 1 : 0;
      }
    }
    expect(valid).toBeGreaterThan(10);
  });
});

describe('Ed25519 without Node', () => {
  const { Point } = ed25519;
  const torsion = [
    '0100000000000000000000000000000000000000000000000000000000000000',
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    '0000000000000000000000000000000000000000000000000000000000000000',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    // not canonical: y of p, p + 1, and 2^255 - 1; x of zero with a sign
    'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
    '0100000000000000000000000000000000000000000000000000000000000080',
  ].map((hex) => Buffer.from(hex, 'hex'));

  it('keys and points of small order or with other spellings get the verdict of Node', () => {
    for (const key of torsion) {
      for (const r of torsion) {
        for (const s of [Buffer.alloc(32), Buffer.from('01'.padEnd(64, '0'), 'hex')]) {
          const given = { key, message: Buffer.from('m'), signature: Buffer.concat([r, s]) };
          const { web, node: ours } = verdicts('ed25519', given);
          expect(web).toBe(ours);
        }
      }
    }
  });

  /** Signs with any nonce and parts of small order added to the key and to R, as the owner of a key can. */
  function crooked(nonce: bigint, added: { readonly toKey: Uint8Array; readonly toR: Uint8Array }) {
    const { scalar, point } = ed25519.utils.getExtendedPublicKey(ed25519.utils.randomSecretKey());
    const key = point.add(Point.fromBytes(added.toKey)).toBytes();
    const base = nonce === 0n ? Point.ZERO : Point.BASE.multiply(nonce);
    const r = base.add(Point.fromBytes(added.toR)).toBytes();
    const message = Buffer.from('m');
    const digest = node.createHash('sha512').update(r).update(key).update(message).digest();
    const k = BigInt(`0x${Buffer.from(digest.toReversed()).toString('hex')}`);
    const s = (nonce + k * scalar) % Point.Fn.ORDER;
    const signature = Buffer.concat([r, Buffer.from(s.toString(16).padStart(64, '0'), 'hex').toReversed()]);
    return { key, message, signature };
  }
  const [zero, , , eighth] = torsion.map((each) => Uint8Array.from(each));

  it('a signature that only the equation with the cofactor accepts is refused, as in Node', () => {
    const given = crooked(7n, { toKey: zero!, toR: eighth! });
    expect(ed25519.verify(given.signature, given.message, given.key)).toBe(true);
    expect(verdicts('ed25519', given)).toEqual({ web: false, node: false });
  });

  it.each([
    ['of small order', 0n, zero, eighth],
    ['that is zero', 0n, zero, zero],
    ['of a key with a part of small order', 7n, eighth, zero],
    ['with the part of small order of its key', 7n, eighth, eighth],
  ] as const)('a signature with an R %s gets the verdict of Node', (_, nonce, toKey, toR) => {
    for (let attempt = 0; attempt < 16; attempt += 1) {
      const { web, node: ours } = verdicts('ed25519', crooked(nonce, { toKey: toKey!, toR: toR! }));
      expect(web).toBe(ours);
    }
  });

  it('a key of another algorithm, and signing, are refused', () => {
    expect(() => createPublicKey({ key: Buffer.alloc(44) })).toThrow('expected a public key');
    expect(() => sign()).toThrow('expected Node for signing');
  });
});
