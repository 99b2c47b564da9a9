/** An honest plane is never accused by an index witness: its log is pruned, and its keys are rotated and retired. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { planePrune } from '../../../../plane/data/prune.ts';
import { retireKeys, rotateKeys } from '../../../../plane/keys/rotate.ts';
import { planeServe } from '../../../../plane/serve/start.ts';
import { parseTrust } from '../../../../src/core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../../src/core/note/key.ts';
import { formatWitnessRequest } from '../../../../src/core/note/witness.ts';
import { verifyBundle } from '../../../../src/core/proofs/verify.ts';
import {
  addLogKeys,
  setLogSource,
  witnessedLogs,
  witnessInit,
  witnessServe,
} from '../../../../src/host/witness/server.ts';
import { silentLog } from '../../../../src/service/call/log.ts';
import { checkedCalls, event, startPlane, type TestPlane } from '../../../support/serving.ts';

const dayMs = 86_400_000;
const realNow = Date.now;
let aheadMs = 0;
const folder = mkdtempSync(join(tmpdir(), 'gov-honestplane-'));
const dataDir = join(folder, 'witness');
const keyFile = join(folder, 'auditor.key');
let plane: TestPlane;

const trustOf = () => parseTrust(readFileSync(join(plane.dataDir, 'trust'), 'utf8'));
/** The auditor takes the keys of the log from the trust file of the plane. */
const learnKeys = (): void => {
  const vkeys = trustOf().keys.map(({ text }) => text);
  addLogKeys(dataDir, vkeys);
  setLogSource(dataDir, vkeys, { url: plane.baseUrl, keyFile });
};

beforeAll(async () => {
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
  plane = await startPlane();
  await plane.close();
  writeFileSync(keyFile, plane.key);
  await witnessInit({ dataDir, index: true });
}, 60_000);
afterAll(async () => {
  vi.restoreAllMocks();
  await plane.end();
  rmSync(folder, { recursive: true, force: true });
});

/** Serves plane and witness, records a run, and waits until its bundle is proven to the index witness. */
async function proven(runId: string): Promise<void> {
  learnKeys();
  const witness = await witnessServe({
    dataDir,
    index: true,
    listen: '127.0.0.1:0',
    log: silentLog,
    env: {},
  });
  const [vkey = ''] = witness.verifierKeys;
  const served = await planeServe({
    dataDir: plane.dataDir,
    log: silentLog,
    env: {},
    overloadDelayMs: 60_000,
    listen: `127.0.0.1:${plane.port}`,
    witness: [`${vkey}@${witness.url}`],
  });
  try {
    const own = checkedCalls(served.baseUrl).call;
    const call: TestPlane['call'] = (method, path, options = {}) =>
      own(method, path, { key: plane.key, ...options });
    const timestamp = new Date(Date.now()).toISOString();
    const events = Array.from({ length: 300 }, (_, n) => event({ runId, timestamp, metadata: { n } }));
    expect((await call('POST', '/events/batch', { body: { events } })).status).toBeLessThan(300);
    const { body } = await call('POST', '/proofs', { body: { runId } });
    const trust = {
      ...trustOf(),
      index: { witnesses: [{ name: 'W1', key: parseVerifierKey(vkey) }], quorum: 1 },
    };
    const strength = async (): Promise<string> => {
      const { bytes } = await call('GET', `/proofs/${body.proofId}/bundle`);
      const { verified, completeness } = verifyBundle(bytes, trust);
      return `${verified} ${completeness.strength}`;
    };
    await expect.poll(strength, { timeout: 60_000 }).toBe('true witnessed');
    expect(witnessedLogs(dataDir)[0]).toMatchObject({ refusal: null });
  } finally {
    await served.close();
    await witness.close();
  }
}

describe('an index witness of an honest plane', { timeout: 180_000 }, () => {
  it('cosigns after the log was pruned', async () => {
    await proven('old');
    aheadMs = 200 * dayMs;
    await proven('young');
    const pruned = await planePrune(
      { dataDir: plane.dataDir, env: {} },
      { beforeMs: Date.now() - 190 * dayMs, archive: join(folder, 'a.ndjson.gz'), dryRun: false },
    );
    expect(pruned.to).toBeGreaterThan(300);
    await proven('younger');
  });

  it('one that begins after the prune cosigns nothing, says why, and accuses nobody', async () => {
    const late = join(folder, 'late');
    await witnessInit({ dataDir: late, index: true });
    const vkeys = trustOf().keys.map(({ text }) => text);
    addLogKeys(late, vkeys);
    const options = { log: silentLog, env: {}, overloadDelayMs: 60_000 };
    const served = await planeServe({ dataDir: plane.dataDir, ...options, listen: '127.0.0.1:0' });
    setLogSource(late, vkeys, { url: served.baseUrl, keyFile });
    const witness = await witnessServe({ dataDir: late, index: true, listen: '127.0.0.1:0', ...options });
    try {
      const { call } = checkedCalls(served.baseUrl);
      const { text: note } = await call('GET', '/log/checkpoint', { key: plane.key });
      for (let again = 0; again < 2; again++) {
        const body = formatWitnessRequest({ oldSize: 0, proof: [], note });
        const answer = await fetch(`${witness.url}/add-checkpoint`, { method: 'POST', body });
        expect([answer.status, await answer.text()]).toEqual([
          503,
          expect.stringMatching(
            /was pruned.+ cosigns no checkpoint of this log.+ which began before the prune/,
          ),
        ]);
      }
      expect(witnessedLogs(late)[0]).toMatchObject({ size: null, refusal: null });
    } finally {
      await served.close();
      await witness.close();
    }
  });

  it('cosigns after the keys of the log were rotated, and after the old ones were retired', async () => {
    await rotateKeys(plane.dataDir);
    await proven('rotated');
    await retireKeys(plane.dataDir);
    await proven('retired');
  });
});
