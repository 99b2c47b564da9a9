import { expect, it } from 'vitest';
import { ValueSealer } from '../../../src/client/namespaces/sealing.ts';

const key = new Uint8Array(32).fill(1);
const place = { id: 'nsr_1', name: 'token' };

it('a sealed value opens with its key in its place, and with no other key, place or byte', async () => {
  const sealing = new ValueSealer(key);
  const sealed = await sealing.seal('"s3cret"', place);
  expect(await sealing.open(sealed, place)).toBe('"s3cret"');
  const refused = {
    name: 'GovConflictError',
    message: expect.stringContaining('expected the key that sealed token'),
  };
  await expect(new ValueSealer(new Uint8Array(32)).open(sealed, place)).rejects.toMatchObject(refused);
  await expect(sealing.open(sealed, { ...place, id: 'nsr_2' })).rejects.toMatchObject({ status: 409 });
  await expect(sealing.open(sealed, { ...place, name: 'other' })).rejects.toMatchObject({ status: 409 });
  const bytes = Buffer.from(sealed.sealed, 'base64');
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    await expect(sealing.open({ ...sealed, sealed: changed.toString('base64') }, place)).rejects.toThrow();
  }
});

it('equal values have equal fingerprints under one key, and each sealing has another nonce', async () => {
  const sealing = new ValueSealer(key);
  const [first, second] = [await sealing.seal('"a"', place), await sealing.seal('"a"', place)];
  expect(first.fingerprint).toBe(second.fingerprint);
  expect(first.fingerprint).toMatch(/^[0-9a-f]{32}$/);
  expect(first.sealed).not.toBe(second.sealed);
  expect((await sealing.seal('"b"', place)).fingerprint).not.toBe(first.fingerprint);
  expect((await new ValueSealer(new Uint8Array(32)).seal('"a"', place)).fingerprint).not.toBe(
    first.fingerprint,
  );
});
