import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { recoverApprover, recoveryReason } from '../../../plane/data/recover-approver.ts';
import { planeServe } from '../../../plane/serve/start.ts';
import { limits } from '../../../src/contract/limits.ts';
import { sshPublicKey } from '../../../src/core/approvals/ssh-sign.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { send } from '../../support/serving.ts';

const dayMs = 86_400_000;

describe('a recovered approver', () => {
  it('is enrolled at the files of a stopped plane, and log and health say so', async () => {
    const dataDir = join(mkdtempSync(join(tmpdir(), 'gov-recover-')), 'plane');
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    const { publicKey } = generateKeyPairSync('ed25519');
    let token = '';
    const seal = async (made: string): Promise<string> => {
      token = made;
      return sshPublicKey(publicKey);
    };
    const scopes = ['governance:read', 'approvals:decide'] as const;
    const made = await recoverApprover(dataDir, { scopes, seal });
    expect((await fsck({ dataDir, deep: true })).problems).toEqual([]);
    const plane = await planeServe({ dataDir, log: silentLog, env: {} });
    try {
      const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
      const get = async (path: string, as = key) =>
        (await send('GET', `${plane.baseUrl}${path}`, { key: as })).body;
      expect((await get('/auth/identity', token)).id).toBe(made.keyId);
      expect((await get('/approvers')).data).toMatchObject([
        {
          approverId: made.approverId,
          principal: made.keyId,
          fingerprint: made.fingerprint,
          status: 'active',
        },
      ]);
      expect((await get('/events?runId=gov.system&eventType=approver.recovered')).events).toHaveLength(1);
      const { status, reasons } = await get('/health');
      expect([status, reasons]).toEqual([
        'degraded',
        [expect.stringMatching(/^approver: recovered at the files/)],
      ]);
      await expect(recoverApprover(dataDir, { scopes, seal })).rejects.toMatchObject({ code: 'CONFLICT' });
    } finally {
      await plane.close();
    }
  });

  it('is a reason of health for 30 days', () => {
    const lastMs = limits.approverRecoveredDays * dayMs;
    expect([recoveryReason(0, lastMs).length, recoveryReason(0, lastMs + 1).length]).toEqual([1, 0]);
    expect(recoveryReason(null, 0)).toEqual([]);
  });
});
