/**
 * Honest logs are never accused: those of a hosted service on either engine, with several writing processes, an erasure, and
 * restarts of the index witness. Their bundles become proven.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Trust } from '../../../../src/core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../../src/core/note/key.ts';
import { verifyBundle } from '../../../../src/core/proofs/verify.ts';
import {
  addLogKeys,
  setLogSource,
  witnessedLogs,
  witnessInit,
  witnessServe,
  type RunningWitness,
} from '../../../../src/host/witness/server.ts';
import { silentLog } from '../../../../src/service/call/log.ts';
import { engines, startService, type TestService } from '../../../support/hosted.ts';
import { event } from '../../../support/serving.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-honest-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(engines)('an index witness of an honest service on %s', { timeout: 120_000 }, (engine) => {
  const dataDir = join(folder, engine);
  let witness: RunningWitness;
  let service: TestService;
  const serve = (listen: string): Promise<RunningWitness> =>
    witnessServe({ dataDir, index: true, listen, log: silentLog, env: {} });
  beforeAll(async () => {
    const { verifierKeys } = await witnessInit({ dataDir, index: true });
    witness = await serve('127.0.0.1:0');
    const witnesses = [{ url: witness.url, verifierKey: verifierKeys[0] ?? '' }];
    service = await startService({ engine, file: { witnesses } });
  }, 60_000);
  afterAll(async () => {
    await service.end();
    await witness.close();
  });

  it('cosigns, whichever process writes, after an erasure and after a restart', async () => {
    const ada = await service.signUp('ada');
    const keys = (await ada.call('GET', '/log/key')).text.trim().split('\n').map(parseVerifierKey);
    const origin = keys[0]?.name ?? '';
    const trust: Trust = {
      origin,
      keys,
      witnesses: [],
      quorum: 0,
      index: {
        witnesses: [{ name: 'W1', key: parseVerifierKey(witness.verifierKeys[0] ?? '') }],
        quorum: 1,
      },
    };
    const vkeys = keys.map(({ text }) => text);
    const keyFile = join(folder, `${engine}.key`);
    const auditor = { name: 'auditor', scopes: ['log:read', 'erasure:write'] };
    const { key } = (await ada.call('POST', '/api-keys', { body: auditor })).body as { key: string };
    writeFileSync(keyFile, key);
    addLogKeys(dataDir, vkeys);
    setLogSource(dataDir, vkeys, { url: `${service.origin}/api/v1`, keyFile });

    const other = engine === 'postgres' ? await service.again() : service;
    const proven = async (runId: string): Promise<void> => {
      const { proofId } = (await ada.call('POST', '/proofs', { body: { runId } })).body as {
        proofId: string;
      };
      const strength = async (): Promise<string> => {
        const { bytes } = await ada.call('GET', `/proofs/${proofId}/bundle`);
        const { verified, completeness } = verifyBundle(bytes, trust);
        return `${verified} ${completeness.strength} ${completeness.by.join()}`;
      };
      await expect.poll(strength, { timeout: 30_000 }).toBe('true witnessed W1');
    };
    for (const [at, { call }] of [service, other, service, other].entries()) {
      const body = event({ runId: `r${at % 2}`, metadata: { at } });
      expect((await call('POST', '/events', { key: ada.keys.production, body })).status).toBe(201);
    }
    await proven('r0');
    const { events } = (await ada.call('GET', '/events?runId=r0')).body as { events: { eventId: string }[] };
    const body = { eventId: events[0]?.eventId };
    expect((await ada.call('POST', '/erasures', { key, body })).status).toBeLessThan(300);

    const { url } = witness;
    await witness.close();
    witness = await serve(new URL(url).host);
    for (let at = 0; at < 3; at++) {
      const body = event({ runId: `r${at % 2}`, metadata: { at } });
      expect((await other.call('POST', '/events', { key: ada.keys.production, body })).status).toBe(201);
    }
    await proven('r1');
    expect(witnessedLogs(dataDir)[0]).toMatchObject({ origin, refusal: null });
  });
});
