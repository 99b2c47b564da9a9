/** Which witnesses are asked: by file, by flag, and what is refused. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { limits } from '../../../src/contract/limits.ts';
import { ed25519Cosigner, ed25519Signer } from '../../../src/core/note/checkpoint.ts';
import { readPlaneConfig } from '../../../src/host/data/config.ts';
import { type WitnessesFile, witnessesOf } from '../../../src/host/witness/config.ts';

const newKey = (name = 'w.example/1'): string =>
  ed25519Cosigner(name, generateKeyPairSync('ed25519').privateKey).verifierKey;
const url = 'https://witness.example/w1';
const read = (file: WitnessesFile, flags?: readonly string[]) =>
  witnessesOf(file, { flags, path: 'plane.json' });
const witness = () => ({ url, verifierKey: newKey() });

describe('witnesses', () => {
  it('witnesses come from flags, otherwise from the file, otherwise there are none', () => {
    expect(read({})).toBeNull();
    const [one, two] = [witness(), witness()];
    const file = { witnesses: [one], witnessQuorum: 1, witnessWaitSeconds: 2 };
    expect(read(file)).toMatchObject({
      witnesses: [{ url, key: { text: one.verifierKey } }],
      quorum: 1,
      waitSeconds: 2,
    });
    const flags = [`${two.verifierKey}@http://127.0.0.1:7480/`, `${newKey('a@b')}@${url}`];
    expect(read(file, flags)?.witnesses).toMatchObject([
      { url: 'http://127.0.0.1:7480', key: { text: two.verifierKey } },
      { url, key: { name: 'a@b' } },
    ]);
    expect(read(file, [])?.witnesses).toHaveLength(1);
  });

  const log = ed25519Signer('a.log', generateKeyPairSync('ed25519').privateKey).verifierKey;
  const twice = witness();
  it.each<[string, WitnessesFile, readonly string[] | undefined, string]>([
    ['a key of a log', { witnesses: [{ url, verifierKey: log }] }, undefined, 'a key of a witness'],
    [
      'no key',
      { witnesses: [{ url, verifierKey: 'x' }] },
      undefined,
      'plane.json /witnesses/0: verifier key',
    ],
    ['no address', { witnesses: [{ url: 'x', verifierKey: newKey() }] }, undefined, 'an address such as'],
    ['a query', { witnesses: [{ url: `${url}?a`, verifierKey: newKey() }] }, undefined, 'without a query'],
    ['a password', { witnesses: [{ url: 'https://a:b@c', verifierKey: newKey() }] }, undefined, 'an address'],
    ['another scheme', {}, [`${newKey()}@ftp://c`], '--witness: expected VERIFIERKEY@URL'],
    ['no address in a flag', {}, [newKey()], '--witness: expected VERIFIERKEY@URL'],
    ['one key twice', { witnesses: [twice, twice] }, undefined, 'a key of its own'],
    [
      'more asked for than there are',
      { witnesses: [witness()], witnessQuorum: 2 },
      undefined,
      'at most the 1',
    ],
  ])('the configuration of witnesses is refused with %s', (_, file, flags, said) => {
    expect(() => read(file, flags)).toThrow(said);
  });

  it(`a plane has at most ${limits.witnesses} witnesses`, () => {
    const many = (count: number) => Array.from({ length: count }, witness);
    expect(read({ witnesses: many(limits.witnesses) })?.witnesses).toHaveLength(limits.witnesses);
    expect(() => read({ witnesses: many(limits.witnesses + 1) })).toThrow('at most 16 witnesses');
    const flags = many(limits.witnesses + 1).map(({ verifierKey }) => `${verifierKey}@${url}`);
    expect(() => read({}, flags)).toThrow('--witness: expected at most 16');
  });

  it('plane.json names the witnesses, and its schema limits them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gov-witnessconfig-'));
    afterAll(() => rmSync(folder, { recursive: true, force: true }));
    const dataDir = join(folder, 'plane');
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    const path = join(dataDir, 'plane.json');
    const file = JSON.parse(readFileSync(path, 'utf8')) as object;
    const readWith = (members: object) => {
      writeFileSync(path, JSON.stringify({ ...file, ...members }));
      return readPlaneConfig(dataDir, {}, {});
    };
    const most = { witnessQuorum: limits.witnesses, witnessWaitSeconds: limits.witnessWaitSeconds };
    expect(readWith({ witnesses: [witness()], ...most })).toMatchObject(most);
    for (const members of [
      { witnessWaitSeconds: limits.witnessWaitSeconds + 1 },
      { witnessQuorum: limits.witnesses + 1 },
      { witnesses: Array.from({ length: limits.witnesses + 1 }, witness) },
      { witnesses: [{ url }] },
      { witnesses: [{ ...witness(), more: 1 }] },
    ]) {
      expect(() => readWith(members), JSON.stringify(members).slice(0, 60)).toThrow('plane.json');
    }
  });
});
