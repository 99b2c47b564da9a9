/** HPKE with a shared secret: the vector of RFC 9180 A.1.2, and that nothing of a message can be another. */
import { describe, expect, it } from 'vitest';
import { hpkeOpen, hpkePublicKey, hpkeSeal } from '../../../src/core/note/hpke.ts';
import { vector } from '../../vectors/rfc9180.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const { info, pskId, aad } = vector;
const psk = hex(vector.psk);
const privateKey = hex(vector.privateKey);
const ephemeral = hex(vector.ephemeral);
const context = { info, psk, pskId, aad };
const sealed = hpkeSeal(vector.plaintext, {
  ...context,
  publicKey: hpkePublicKey(privateKey),
  ephemeral,
});

describe('a message sealed to a key with a shared secret', () => {
  it('hpkeSeal gives the key and ciphertext of RFC 9180 A.1.2', () => {
    expect(sealed.enc.toString('hex')).toBe(vector.enc);
    expect(sealed.ciphertext.toString('hex')).toBe(vector.ciphertext);
  });

  it('a sealed message opens with the same context and with no other', () => {
    expect(hpkeOpen(sealed, { ...context, privateKey })).toBe(vector.plaintext);
    for (const other of [{ info: 'x' }, { pskId: 'x' }, { aad: 'x' }, { psk: Buffer.alloc(32, 1) }])
      expect(hpkeOpen(sealed, { ...context, privateKey, ...other })).toBeNull();
    expect(hpkeOpen(sealed, { ...context, privateKey: Buffer.alloc(32, 7) })).toBeNull();
  });

  it('a sealed message with any changed bit or a cut end does not open', () => {
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

  it('hpkeSeal refuses a point of small order, a short key and a short secret', () => {
    const options = { ...context, ephemeral };
    expect(() => hpkeSeal('x', { ...options, publicKey: Buffer.alloc(32) })).toThrow();
    expect(() => hpkeSeal('x', { ...options, publicKey: Buffer.alloc(31) })).toThrow(/key of 32 bytes/);
    const publicKey = hpkePublicKey(privateKey);
    expect(() => hpkeSeal('x', { ...options, publicKey, psk: Buffer.alloc(31) })).toThrow(/secret of 32/);
  });
});
