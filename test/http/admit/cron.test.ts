import { afterEach, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { Log } from '../../../src/service/call/log.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { startService, type TestService } from '../../support/hosted.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';

const secret = 'x'.repeat(limits.cronSecretChars);
const paths = ['schedules', 'executions', 'deliveries', 'cleanup'].map((work) => `/cron/reporting/${work}`);
const withSecret = (value: string) => ({ key: null, headers: { 'x-cron-secret': value } });

let served: TestPlane | TestService | undefined;
afterEach(async () => {
  await served?.end();
  served = undefined;
});

describe('a call of a scheduler', () => {
  it('is admitted by its header alone, at both base paths, and answers with a summary', async () => {
    const plane = await startPlane({ env: { GOV_CRON_SECRET: secret, GOV_SCHEDULER: 'cron' } });
    served = plane;
    for (const path of [...paths, ...paths.map((each) => `${plane.origin}/sandbox/api/v1${each}`)]) {
      const { status, body } = await plane.call('POST', path, withSecret(secret));
      expect([path, status]).toEqual([path, 200]);
      expect(body).toMatchObject({ processed: 0, succeeded: 0, failed: 0, skipped: 0, nextDueAt: null });
      expect(body.durationMs).toBeLessThan(5000);
      expect(body.createdIds).toEqual(path.endsWith('schedules') ? [] : undefined);
    }
  });

  it.each([
    ['no secret', {}, 'UNAUTHENTICATED'],
    ['another secret', { 'x-cron-secret': `${secret.slice(1)}y` }, 'INVALID_CREDENTIAL'],
    ['a part of the secret', { 'x-cron-secret': secret.slice(1) }, 'INVALID_CREDENTIAL'],
    ['an empty secret', { 'x-cron-secret': '' }, 'INVALID_CREDENTIAL'],
    ['two secrets', { 'x-cron-secret': [secret, secret] }, 'INVALID_CREDENTIAL'],
  ])('with %s is refused, also with a key of the project', async (_, headers, code) => {
    const plane = await startPlane({ env: { GOV_CRON_SECRET: secret } });
    served = plane;
    for (const path of paths) {
      const { status, body } = await plane.call('POST', path, { headers });
      expect([path, status, body.code]).toEqual([path, 401, code]);
    }
  });

  it('is always refused where no secret is configured, and the log says how to set one', async () => {
    const lines: string[] = [];
    const log: Log = { ...silentLog, warn: (_, message) => void lines.push(message) };
    const plane = await startPlane({ log });
    served = plane;
    for (const value of ['', 'undefined', 'null', secret]) {
      const { status } = await plane.call('POST', paths[0]!, withSecret(value));
      expect(status).toBe(401);
    }
    expect(lines.filter((line) => line.includes('set GOV_CRON_SECRET'))).toHaveLength(4);
  });

  it('with other secrets is limited by its address, and the right one is admitted all the same', async () => {
    const service = await startService({ env: { GOV_CRON_SECRET: secret }, file: { rates: {} } });
    served = service;
    const most = limits.cronFailuresPerMinute;
    const answers: number[] = [];
    for (let n = 0; n < most + 2; n++)
      answers.push((await service.call('POST', paths[n % 4]!, withSecret(`${n}${secret}`))).status);
    expect(answers).toEqual([...Array.from({ length: most }, () => 401), 429, 429]);
    for (const path of paths) expect((await service.call('POST', path, withSecret(secret))).status).toBe(200);
  });

  it('has no body', async () => {
    const plane = await startPlane({ env: { GOV_CRON_SECRET: secret } });
    served = plane;
    const { status } = await plane.call('POST', paths[0]!, { ...withSecret(secret), body: { a: 1 } });
    expect(status).toBe(400);
  });
});
