import { createPublicKey, sign, verify } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  openSealedKey,
  phraseLength,
  readSealedKey,
  sealNewKey,
} from '../../../src/core/approvals/sealed-key.ts';

describe('a sealed approver key', () => {
  const phrase = 'copper lake nine otter';
  let text: string;
  beforeAll(async () => {
    ({ text } = await sealNewKey(phrase, 'gov_live_x'));
  });
  const open = (file: unknown, with_ = phrase) => {
    const read = readSealedKey(file);
    return 'fault' in read ? read.fault : openSealedKey(read, with_);
  };

  it('opens with its phrase, also with hyphens, and signs for its public key', async () => {
    const file = JSON.parse(text);
    const opened = await open(file, 'copper-lake-nine-otter');
    if (opened === null || typeof opened === 'string') throw new Error('expected an opened key');
    expect(opened.token).toBe('gov_live_x');
    const key = createPublicKey({
      key: Buffer.from(file.publicKey, 'base64url'),
      format: 'der',
      type: 'spki',
    });
    expect(verify(null, Buffer.from('a'), key, sign(null, Buffer.from('a'), opened.privateKey))).toBe(true);
    expect(text).not.toContain('gov_live_x');
  });

  it('does not open with another phrase, nor after a change of a box or of the public key', async () => {
    const file = JSON.parse(text);
    const other = JSON.parse((await sealNewKey(phrase, 'b')).text);
    const changed = [
      { ...file, box: other.box },
      { ...file, publicKey: other.publicKey },
      { ...file, token: other.token },
    ];
    expect(await open(file, 'copper lake nine badger')).toBeNull();
    for (const each of changed) expect(await open(each)).toBeNull();
  });

  it('names the member that is damaged', () => {
    const file = JSON.parse(text);
    const { kdf } = file;
    const damaged: [unknown, string][] = [
      [[], 'expected an object'],
      [{ ...file, format: 'gov.sealedkey/2' }, 'format: '],
      [{ ...file, kdf: null }, 'kdf: '],
      [{ ...file, kdf: { ...kdf, name: 'argon2id' } }, 'kdf: expected scrypt'],
      [{ ...file, kdf: { ...kdf, N: 2 ** 30 } }, 'kdf: expected scrypt'],
      [{ ...file, kdf: { ...kdf, salt: 'AA' } }, 'kdf.salt: '],
      [{ ...file, publicKey: 'AA' }, 'publicKey: '],
      [{ ...file, iv: '!' }, 'iv and box: '],
      [{ ...file, box: 'AA' }, 'iv and box: '],
      [{ ...file, token: 'x' }, 'token: '],
    ];
    for (const [value, words] of damaged) expect(open(value)).toEqual(expect.stringContaining(words));
  });

  it('counts the characters of a phrase, and blanks as one', () => {
    expect([phraseLength('  a   b '), phraseLength('a-b'), phraseLength('éé')]).toEqual([3, 3, 2]);
  });
});
