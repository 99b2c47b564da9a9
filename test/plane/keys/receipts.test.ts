/** Receipts of answers while the keys of the log change beside clients that write. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { retireKeys, rotateKeys } from '../../../plane/keys/rotate.ts';
import { planeServe } from '../../../plane/serve/start.ts';
import { parseTrust } from '../../../src/core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import type { Answer } from '../../support/answer.ts';
import { checkedCalls, event } from '../../support/serving.ts';
import { verified, type Item } from '../../service/support/receipts.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-rotatereceipts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const writers = 16;
const changes = 4;

const ed25519Of = (keys: readonly string[]): number =>
  keys.map(parseVerifierKey).find(({ algorithm }) => algorithm === 'ed25519')!.keyId;

it(
  'receipts verify with the trust file of all keys, and none is by a key that its tree ended',
  {
    timeout: 120_000,
  },
  async () => {
    const dataDir = join(folder, 'plane');
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    const plane = await planeServe({ dataDir, log: silentLog, env: {}, overloadDelayMs: 60_000 });
    const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
    const { call } = checkedCalls(plane.baseUrl);
    const trustFile = () => parseTrust(readFileSync(join(dataDir, 'trust'), 'utf8'));
    const record = (name: string): Promise<Answer> =>
      call('POST', '/events', {
        key,
        body: event({ runId: 'rotated', metadata: { name } }),
        headers: { 'idempotency-key': name },
      });

    const stopped = new AbortController();
    const answers: Answer[] = [];
    const lanes = Array.from({ length: writers }, async (_, lane) => {
      for (let n = 0; !stopped.signal.aborted; n++) answers.push(await record(`${lane}-${n}`));
    });
    const first = trustFile();
    const before = await record('before');
    /** When each Ed25519 key ended, by its id. */
    const ends = new Map<number, number>();
    for (let change = 0; change < changes; change++) {
      await rotateKeys(dataDir);
      const { keys, leaf } = await retireKeys(dataDir);
      ends.set(ed25519Of(keys), leaf);
    }
    const after = await record('after');
    const replayed = await record('before');
    stopped.abort();
    await Promise.all(lanes);

    const trust = trustFile();
    expect(trust.keys).toHaveLength(2 * (changes + 1));
    const receiptOf = (answer: Answer) => verified(answer, [answer.body as unknown as Item], trust);
    const [oldest] = ends.keys();
    expect(receiptOf(before).keyId).toBe(oldest);
    for (const answer of [after, replayed]) expect(ends.has(receiptOf(answer).keyId)).toBe(false);
    // who has not fetched the new keys verifies what was signed until the old one ended
    expect(verified(before, [before.body as unknown as Item], first).keyId).toBe(oldest);
    expect(() => verified(after, [after.body as unknown as Item], first)).toThrow('no trusted Ed25519 key');
    const late = answers
      .map(receiptOf)
      .filter(({ keyId, size }) => size > (ends.get(keyId) ?? Infinity))
      .map(({ size, keyId }) => `of ${size} leaves, by a key that leaf ${ends.get(keyId)} ended`);
    expect(late).toEqual([]);
    expect(new Set(answers.map((answer) => receiptOf(answer).keyId)).size).toBe(changes + 1);
    await plane.close();
  },
);
