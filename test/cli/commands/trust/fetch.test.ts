/** Keys of a real plane, fetched first, by fingerprint, and after a rotation; and forged answers. */
import { generateKeyPairSync } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { retireKeys, rotateKeys } from '../../../../plane/keys/rotate.ts';
import { planeServe, type RunningPlane } from '../../../../plane/serve/start.ts';
import { sha256Text } from '../../../../src/core/hash.ts';
import {
  ed25519Signer,
  formatTrust,
  parseTrust,
  signCheckpoint,
} from '../../../../src/core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../../src/core/note/key.ts';
import { planeInit } from '../../../../plane/data/init.ts';
import { silentLog } from '../../../../src/service/call/log.ts';
import { startServer } from '../../../client/server.ts';
import { Account } from '../../support/account.ts';

const account = new Account();
const at = (name: string): string => join(account.folder, name);
const dataDir = at('plane');
let plane: RunningPlane;
const serve = async (): Promise<void> => {
  plane = await planeServe({ dataDir, log: silentLog, env: {} });
};
const keysOf = (file: string): string[] =>
  parseTrust(readFileSync(file, 'utf8')).keys.map(({ text }) => text);
/** As a client on another machine: an address and a key, no context. */
const elsewhere = (...words: string[]) =>
  account.gov(['trust', ...words], {
    env: {
      GOV_BASE_URL: plane.baseUrl,
      GOV_API_KEY: readFileSync(join(dataDir, 'local.key'), 'utf8').trim(),
    },
  });

beforeAll(async () => {
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  await serve();
});
afterAll(() => plane.close());

describe('gov trust fetch from a plane', { timeout: 60_000 }, () => {
  it('writes the keys of the log, shows each fingerprint, and says what a first fetch does not prove', async () => {
    const { code, stderr } = await elsewhere('fetch', '--out', 'first');
    expect([code, stderr]).toEqual([0, expect.stringContaining('not whose log it is')]);
    // the file of the plane itself, which requires a signature by each algorithm
    expect(readFileSync(at('first'), 'utf8')).toBe(readFileSync(join(dataDir, 'trust'), 'utf8'));
    expect(parseTrust(readFileSync(at('first'), 'utf8')).require).toBe('each-algorithm');
    for (const key of keysOf(at('first'))) expect(stderr).toContain(sha256Text(key));
    const shown = await account.json(['trust', 'show', 'first']);
    expect(shown.keys.map((each: { fingerprint: string }) => each.fingerprint)).toEqual(
      keysOf(at('first')).map(sha256Text),
    );
  });

  it('prints the trust file without --out, and one value with -o json', async () => {
    expect((await elsewhere('fetch')).stdout).toBe(readFileSync(at('first'), 'utf8'));
    const { stdout } = await elsewhere('fetch', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({
      firstUse: true,
      trust: readFileSync(at('first'), 'utf8'),
      keys: keysOf(at('first')).map((key) => ({ key, from: 'trusted on first use' })),
    });
  });

  it('accepts the expected fingerprints, with and without their prefix', async () => {
    const [one = '', ...more] = keysOf(at('first')).map(sha256Text);
    const flags = [one.slice(7).toUpperCase(), ...more].flatMap((each) => ['--expect-key', each]);
    const { code, stderr } = await elsewhere('fetch', '--out', 'expected', ...flags);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('not whose log it is')]);
    expect(stderr).toContain('as expected');
  });

  it('writes nothing for an unexpected key, or one more than was expected', async () => {
    const known = keysOf(at('first')).map(sha256Text);
    for (const expected of [`sha256:${'0'.repeat(64)}`, known[0] ?? '']) {
      if (expected === known[0] && known.length === 1) continue;
      const { code, stderr } = await elsewhere('fetch', '--out', 'not-written', '--expect-key', expected);
      expect([code, stderr]).toEqual([3, expect.stringContaining('fingerprint')]);
      expect(existsSync(at('not-written'))).toBe(false);
    }
    expect(await elsewhere('fetch', '--expect-key', 'abc')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected sha256: and 64 hex digits, got "abc"'),
    });
  });

  it('refuses a key that differs from the trusted ones and that no rotation proves', async () => {
    const [first = ''] = keysOf(at('first'));
    const { name } = parseVerifierKey(first);
    const stranger = ed25519Signer(name, generateKeyPairSync('ed25519').privateKey);
    const text = `log ${stranger.verifierKey}\nquorum none\n`;
    writeFileSync(at('other-key'), text);
    const { code, stderr } = await elsewhere('fetch', '--out', 'other-key');
    expect([code, stderr]).toEqual([3, expect.stringContaining('no trusted key vouches for')]);
    expect(readFileSync(at('other-key'), 'utf8')).toBe(text);
  });

  it('does not replace a file that is not a trust file, or that trusts another log', async () => {
    writeFileSync(at('notes'), 'my notes\n');
    expect(await elsewhere('fetch', '--out', 'notes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected a trust file'),
    });
    expect(readFileSync(at('notes'), 'utf8')).toBe('my notes\n');
    const stranger = ed25519Signer('another/log', generateKeyPairSync('ed25519').privateKey);
    writeFileSync(at('another'), `log ${stranger.verifierKey}\nquorum none\n`);
    expect(await elsewhere('fetch', '--out', 'another')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('trusts the log another/log'),
    });
  });

  it('adds the keys of rotations that a trusted key signed, and keeps every line of the file', async () => {
    appendFileSync(at('first'), '# checked with Ada by telephone\n');
    const before = readFileSync(at('first'), 'utf8');
    await plane.close();
    const { keys } = await rotateKeys(dataDir);
    await retireKeys(dataDir);
    await serve();
    const { code, stderr } = await elsewhere('fetch', '--out', 'first');
    expect([code, stderr]).toEqual([0, expect.stringContaining('proven by a trusted key')]);
    expect(readFileSync(at('first'), 'utf8')).toBe(`${before}${keys.map((key) => `log ${key}\n`).join('')}`);
  });
});

describe('gov trust fetch from a server that forges', () => {
  const origin = 'forged/log';
  const [own, other] = [0, 1].map(() => ed25519Signer(origin, generateKeyPairSync('ed25519').privateKey));
  if (own === undefined || other === undefined) throw new Error('two signers');
  const root = Buffer.alloc(32, 7);

  it.each([
    ['a checkpoint of another key', own.verifierKey, other, 'does not verify'],
    ['a key that is not one', 'no key', own, 'invalid key'],
    ['no key', '', own, 'got none'],
  ])('%s is refused, and nothing is written', async (_, key, signer, message) => {
    const note = signCheckpoint({ origin, size: 3, root, extensions: [] }, [signer]);
    const server = await startServer(({ url }, response) => {
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
      response.end(url.endsWith('/log/key') ? `${key}\n` : note);
    });
    try {
      const env = { GOV_BASE_URL: server.baseUrl, GOV_API_KEY: `gov_live_${'k'.repeat(38)}` };
      const { code, stderr } = await account.gov(['trust', 'fetch', '--out', 'forged'], { env });
      expect([code, stderr]).toEqual([3, expect.stringContaining(message)]);
      expect(existsSync(at('forged'))).toBe(false);
    } finally {
      await server.close();
    }
  });
});

describe('gov context set --trust', () => {
  it('accepts a trust file only, and names the line that is wrong', async () => {
    const set = (file: string) =>
      account.gov(['context', 'set', 'far', '--base-url', 'https://gov.example.test', '--trust', file]);
    writeFileSync(at('broken'), 'log nonsense\nquorum none\n');
    expect(await set('broken')).toMatchObject({ code: 2, stderr: expect.stringContaining('line 1') });
    expect(Object.keys(account.contexts)).not.toContain('far');
    const signer = ed25519Signer('far/log', generateKeyPairSync('ed25519').privateKey);
    const keys = [parseVerifierKey(signer.verifierKey)];
    writeFileSync(at('good'), formatTrust({ origin: 'far/log', keys, witnesses: [], quorum: 0 }));
    expect((await set('good')).code).toBe(0);
    expect(account.contexts['far']).toMatchObject({ trustFile: at('good') });
  });
});
