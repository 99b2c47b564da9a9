import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomBytes } from '../../../src/host/process/clock.ts';
import { createKeys, type HostKeys, readKeys } from '../../../src/host/keys/disk.ts';

describe('keys', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gov-keys-'));
  let keys: HostKeys;
  beforeAll(() => (keys = createKeys(dataDir, randomBytes)));
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  const texts = (of: HostKeys, origin: string): readonly string[] =>
    of.signers(origin).map(({ verifierKey }) => verifierKey);

  it('keys are read back exactly as they were made', () => {
    const read = readKeys(dataDir);
    expect(texts(read, 'a.example/log')).toEqual(texts(keys, 'a.example/log'));
    expect([read.attestationKey, read.storeKey]).toEqual([keys.attestationKey, keys.storeKey]);
  });

  it('keys are never created twice in one directory', () => {
    expect(() => createKeys(dataDir, randomBytes)).toThrow(/EEXIST/);
  });

  it('keys sign each log under its own name, and the last thousand signers are cached', () => {
    const made = Array.from({ length: 1000 }, (_, n) => keys.signers(`log-${n}`));
    expect(texts(keys, 'log-0')[0]).toMatch(/^log-0\+/); // which makes it the newest
    keys.signers('log-1000');
    expect(keys.signers('log-0')).toBe(made[0]);
    expect(keys.signers('log-2')).toBe(made[2]);
    expect(keys.signers('log-1')).not.toBe(made[1]);
  });
});
