/** HPKE with a shared secret: the vector of RFC 9180 A.1.2, and that nothing of a message can be another. */
import { describe, expect, it } from 'vitest';
import { hpkeOpen, hpkePublicKey, hpkeSeal } from '../../../src/core/note/hpke.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
/** RFC 9180 A.1.2, sequence number 0. */
const vector = {
  info: 'Ode on a Grecian Urn',
  psk: hex('0247fd33b913760fa1fa51e1892d9f307fbe65eb171e8132c2af18555a738b82'),
  pskId: 'Ennyn Durin aran Moria',
  aad: 'Count-0',
  ephemeral: hex('463426a9ffb42bb17dbe6044b9abd1d4e4d95f9041cef0e99d7824eef2b6f588'),
  privateKey: hex('c5eb01eb457fe6c6f57577c5413b931550a162c71a03ac8d196babbd4e5ce0fd'),
  enc: '0ad0950d9fb9588e59690b74f1237ecdf1d775cd60be2eca57af5a4b0471c91b',
  plaintext: 'Beauty is truth, truth beauty',
  ciphertext: 'e52c6fed7f758d0cf7145689f21bc1be6ec9ea097fef4e959440012f4feb73fb611b946199e681f4cfc34db8ea',
};
const { info, psk, pskId, aad, privateKey } = vector;
const context = { info, psk, pskId, aad };
const sealed = hpkeSeal(vector.plaintext, {
  ...context,
  publicKey: hpkePublicKey(privateKey),
  ephemeral: vector.ephemeral,
});

describe('a message that is sealed to a key with a shared secret', () => {
  it('is that of RFC 9180 A.1.2', () => {
    expect(sealed.enc.toString('hex')).toBe(vector.enc);
    expect(sealed.ciphertext.toString('hex')).toBe(vector.ciphertext);
  });

  it('is opened with the same context, and with no other', () => {
    expect(hpkeOpen(sealed, { ...context, privateKey })).toBe(vector.plaintext);
    for (const other of [{ info: 'x' }, { pskId: 'x' }, { aad: 'x' }, { psk: Buffer.alloc(32, 1) }])
      expect(hpkeOpen(sealed, { ...context, privateKey, ...other })).toBeNull();
    expect(hpkeOpen(sealed, { ...context, privateKey: Buffer.alloc(32, 7) })).toBeNull();
  });

  it('is null with any bit of it flipped, and cut anywhere', () => {
    for (const name of ['enc', 'ciphertext'] as const) {
      for (let bit = 0; bit < sealed[name].length * 8; bit++) {
        const bytes = Buffer.from(sealed[name]);
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        // X25519 masks the highest bit of a point; the key that was agreed on has it in
        const opened = hpkeOpen({ ...sealed, [name]: bytes }, { ...context, privateKey });
        expect([name, bit, opened]).toEqual([name, bit, null]);
      }
      for (let length = 0; length < sealed[name].length; length++)
        expect(
          hpkeOpen({ ...sealed, [name]: sealed[name].subarray(0, length) }, { ...context, privateKey }),
        ).toBeNull();
    }
  });

  it('is not sealed to a point of small order, to half a key, or with half a secret', () => {
    const options = { ...context, ephemeral: vector.ephemeral };
    expect(() => hpkeSeal('x', { ...options, publicKey: Buffer.alloc(32) })).toThrow();
    expect(() => hpkeSeal('x', { ...options, publicKey: Buffer.alloc(31) })).toThrow(/key of 32 bytes/);
    const publicKey = hpkePublicKey(privateKey);
    expect(() => hpkeSeal('x', { ...options, publicKey, psk: Buffer.alloc(31) })).toThrow(/secret of 32/);
  });
});
