import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ed25519 } from '@noble/curves/ed25519.js';
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseVerifierKey, verifierKeyText } from '../../../src/core/note/signed.ts';
import {
  hasMlDsa44,
  importPublicKey,
  rawPublicKey,
  type SignatureAlgorithm,
  signatureSizes,
  signBytes,
  verifyBytes,
} from '../../../src/core/note/signature.ts';
import { hasVectors, vectors } from '../../paths.ts';
import { signatures } from '../../vectors/rfc8032.ts';

const oracles = {
  ed25519: (signature: Uint8Array, message: Uint8Array, key: Uint8Array) =>
    ed25519.verify(signature, message, key),
  'ml-dsa-44': (signature: Uint8Array, message: Uint8Array, key: Uint8Array) =>
    ml_dsa44.verify(signature, message, key),
};

const algorithms: SignatureAlgorithm[] = hasMlDsa44() ? ['ed25519', 'ml-dsa-44'] : ['ed25519'];

const keyPair = (algorithm: SignatureAlgorithm): { publicKey: KeyObject; privateKey: KeyObject } =>
  generateKeyPairSync(algorithm as 'ed25519');

describe.each(algorithms)('%s', (algorithm) => {
  const { publicKey, privateKey } = keyPair(algorithm);
  const raw = rawPublicKey(algorithm, publicKey)!;
  const sizes = signatureSizes[algorithm];

  it('@noble verifies the signatures, and no signature with a changed bit verifies', () => {
    expect(rawPublicKey(algorithm, privateKey)).toEqual(raw);
    const key = importPublicKey(algorithm, raw)!;
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.nat(), (message, bit) => {
        const signature = signBytes(privateKey, message);
        expect(signature).toHaveLength(sizes.signatureBytes);
        expect(verifyBytes(key, message, signature)).toBe(true);
        expect(oracles[algorithm](signature, message, raw)).toBe(true);
        const flip = (bytes: Uint8Array): Buffer => {
          const copy = Buffer.from(bytes);
          copy[bit % copy.length]! ^= 1 << (bit % 8);
          return copy;
        };
        expect(verifyBytes(key, flip(message), signature)).toBe(false);
        expect(verifyBytes(key, message, flip(signature))).toBe(false);
      }),
      { numRuns: 20 },
    );
  });

  it('keys and signatures must have the exact length, even if the DER parser accepts more', () => {
    const length = sizes.publicKeyBytes;
    expect(importPublicKey(algorithm, Buffer.concat([raw, Buffer.from([0])]))).toBeNull();
    expect(importPublicKey(algorithm, raw.subarray(1))).toBeNull();
    expect(importPublicKey(algorithm, Buffer.alloc(0))).toBeNull();
    expect(raw).toHaveLength(length);
    const signature = signBytes(privateKey, Buffer.from('x'));
    expect(verifyBytes(publicKey, Buffer.from('x'), Buffer.concat([signature, Buffer.from([0])]))).toBe(
      false,
    );
    expect(verifyBytes(publicKey, Buffer.from('x'), signature.subarray(1))).toBe(false);
  });

  it('a key of another algorithm is refused', () => {
    expect(rawPublicKey(algorithm, generateKeyPairSync('x25519').publicKey)).toBeNull();
  });
});

describe('the text of RFC 8032', () => {
  it.each(signatures)(
    'the signature of $name of RFC 8032 §7.1 verifies, and does not verify with a changed bit',
    (each) => {
      const key = importPublicKey('ed25519', Buffer.from(each.publicKey, 'hex'))!;
      const message = Buffer.from(each.message, 'hex');
      const signature = Buffer.from(each.signature, 'hex');
      expect(verifyBytes(key, message, signature)).toBe(true);
      for (let bit = 0; bit < signature.length * 8; bit++) {
        const changed = Buffer.from(signature);
        changed[bit >> 3]! ^= 1 << (bit & 7);
        expect(verifyBytes(key, message, changed), `bit ${bit}`).toBe(false);
      }
    },
  );
});

interface Wycheproof {
  readonly testGroups: readonly {
    readonly publicKey: { readonly pk: string } | string;
    readonly tests: readonly {
      readonly tcId: number;
      readonly comment: string;
      readonly msg: string;
      readonly sig: string;
      readonly ctx?: string;
      readonly result: string;
    }[];
  }[];
}

/** The key as a verifier key text reads it, so that its length checks are part of what is tested. */
function wycheproofKey(algorithm: SignatureAlgorithm, raw: Buffer): KeyObject | null {
  try {
    const { publicKey } = parseVerifierKey(verifierKeyText('wycheproof', algorithm, raw));
    return importPublicKey(algorithm, publicKey);
  } catch {
    return null;
  }
}

describe.skipIf(!hasVectors)('Wycheproof vectors (skipped where GOV_VECTORS is absent)', () => {
  const suites: [SignatureAlgorithm, string, number][] = [
    ['ed25519', 'ed25519_test', 151],
    ['ml-dsa-44', 'mldsa_44_verify_test', 180],
  ];

  it.each(suites.filter(([algorithm]) => algorithms.includes(algorithm)))(
    'signature verification decides %s as the Wycheproof file %s says',
    (algorithm, file, total) => {
      const suite = JSON.parse(readFileSync(vectors(`wycheproof/${file}.json`), 'utf8')) as Wycheproof;
      const wrong: string[] = [];
      let count = 0;
      for (const { publicKey, tests } of suite.testGroups) {
        const raw = Buffer.from(typeof publicKey === 'string' ? publicKey : publicKey.pk, 'hex');
        const key = wycheproofKey(algorithm, raw);
        for (const { tcId, comment, msg, sig, ctx = '', result } of tests) {
          count++;
          const message = Buffer.from(msg, 'hex');
          const accepted = key !== null && verifyBytes(key, message, Buffer.from(sig, 'hex'));
          // signatures of notes have the empty context, so those with another one must not verify
          if (accepted !== (result === 'valid' && ctx === '')) wrong.push(`${tcId} ${comment}`);
        }
      }
      expect(wrong).toEqual([]);
      expect(count).toBe(total);
    },
  );

  it('the Ed25519 verifier key gives the verdicts of Wycheproof', () => {
    const suite = JSON.parse(readFileSync(vectors('wycheproof/ed25519_test.json'), 'utf8')) as Wycheproof;
    for (const { publicKey, tests } of suite.testGroups) {
      const raw = Buffer.from((publicKey as { pk: string }).pk, 'hex');
      const key = parseVerifierKey(verifierKeyText('wycheproof', 'ed25519', raw));
      for (const { msg, sig, result } of tests) {
        expect(key.verify(Buffer.from(msg, 'hex'), Buffer.from(sig, 'hex'))).toBe(result === 'valid');
      }
    }
  });
});
