/** A hosted service whose logs are witnessed, on either engine, by several processes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTrustedCheckpoint, type Trust } from '../../../src/core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import {
  addLogKeys,
  type RunningWitness,
  witnessInit,
  witnessServe,
} from '../../../src/host/witness/server.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-hostedwitness-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(engines)('a witness of a service on %s', { timeout: 120_000 }, (engine) => {
  const dataDir = join(folder, engine);
  let witness: RunningWitness;
  let service: TestService;
  beforeAll(async () => {
    const { verifierKeys } = await witnessInit({ dataDir, name: 'w.example/1' });
    witness = await witnessServe({ dataDir, listen: '127.0.0.1:0', log: silentLog });
    const witnesses = [{ url: witness.url, verifierKey: verifierKeys[0] ?? '' }];
    service = await startService({ engine, file: { witnesses } });
  }, 60_000);
  afterAll(async () => {
    await service.end();
    await witness.close();
  });

  const trustOf = async (tenant: Tenant): Promise<Trust> => {
    const keys = (await tenant.call('GET', '/log/key')).text.trim().split('\n').map(parseVerifierKey);
    const witnesses = [parseVerifierKey(witness.verifierKeys[0] ?? '')];
    return { origin: keys[0]?.name ?? '', keys, witnesses, quorum: 1 };
  };
  const isCosigned = async (tenant: Tenant, trust: Trust): Promise<boolean> =>
    openTrustedCheckpoint((await tenant.call('GET', '/log/checkpoint')).text, trust).quorumMet;

  it('a witness cosigns the logs that it knows, whichever process signed, without delay for other logs', async () => {
    const [ada, eve] = [await service.signUp('ada'), await service.signUp('eve')];
    const trust = await trustOf(ada);
    addLogKeys(
      dataDir,
      trust.keys.map(({ text }) => text),
    );
    const other = engine === 'postgres' ? await service.again() : service;
    for (const [at, { call }] of [service, other, service, other].entries()) {
      const { status } = await call('POST', '/events', {
        key: ada.keys.production,
        body: event({ runId: `${at}` }),
      });
      expect(status).toBe(201);
      const size = Number((await ada.call('GET', '/log/checkpoint')).text.split('\n')[1]);
      await expect.poll(() => isCosigned(ada, trust)).toBe(true);
      expect(Number((await ada.call('GET', '/log/checkpoint')).text.split('\n')[1])).toBeGreaterThanOrEqual(
        size,
      );
    }
    const made = await ada.call('POST', '/proofs', {
      body: { runId: '1', composed: { layers: ['log_inclusion'] } },
    });
    const bundle = async (): Promise<Buffer> =>
      (await ada.call('GET', `/proofs/${made.body.proofId}/bundle`)).bytes;
    await expect.poll(async () => verifyBundle(await bundle(), trust).verified).toBe(true);
    expect(await isCosigned(eve, await trustOf(eve))).toBe(false);
    expect((await eve.call('GET', '/health')).body).toMatchObject({ status: 'ok' });
  });
});
