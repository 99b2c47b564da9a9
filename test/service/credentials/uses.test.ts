import { afterEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { startReportingUses } from '../../../src/service/access/report-uses.ts';
import { Uses, type UsedCredential } from '../../../src/service/credentials/uses.ts';
import type { Use } from '../../../src/store/port/store.ts';

const key = (keyId: string, usedMinute = -1): UsedCredential => ({
  as: { projectId: 'prj_x', keyId },
  usedMinute,
});

afterEach(() => vi.useRealTimers());

describe('uses of credentials', () => {
  it('uses of credentials are collected once a minute and credential, with the minute', () => {
    const uses = new Uses();
    const credential = key('key_a', 9);
    uses.add('a', credential, 9 * 60_000 + 59_999);
    expect(uses.take()).toEqual([]);
    uses.add('a', credential, 10 * 60_000);
    uses.add('a', credential, 10 * 60_000 + 1);
    uses.add('a', credential, 8 * 60_000);
    uses.add('a', credential, 12 * 60_000 + 5);
    expect(uses.take()).toEqual([{ projectId: 'prj_x', keyId: 'key_a', atMs: 12 * 60_000 }]);
    expect(uses.take()).toEqual([]);
  });

  it('uses of credentials are limited, and uses of further credentials are not reported', () => {
    const uses = new Uses();
    for (let at = 0; at <= limits.credentialCacheKeys; at++) uses.add(`${at}`, key(`${at}`), 60_000);
    uses.add('0', key('0'), 120_000);
    const taken = uses.take();
    expect(taken).toHaveLength(limits.credentialCacheKeys);
    expect(taken[0]).toMatchObject({ keyId: '0', atMs: 120_000 });
  });
});

describe('reporting', () => {
  const reporting = (used: (uses: readonly Use[]) => Promise<void>, warn = silentLog.warn) => {
    vi.useFakeTimers();
    const credentials = { uses: new Uses() };
    const parts = { store: { used }, credentials, log: { ...silentLog, warn } };
    return { uses: credentials.uses, stop: startReportingUses(parts as never) };
  };

  it('uses of credentials are reported to the store once a minute, and the rest at the end', async () => {
    const told: Use[][] = [];
    const { uses, stop } = reporting(async (each) => void told.push([...each]));
    uses.add('a', key('key_a'), 60_000);
    await vi.advanceTimersByTimeAsync(59_999);
    expect(told).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(told).toEqual([[{ projectId: 'prj_x', keyId: 'key_a', atMs: 60_000 }]]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toHaveLength(1);
    uses.add('b', { as: { digest: Buffer.alloc(32) }, usedMinute: -1 }, 120_000);
    await stop();
    expect(told[1]).toEqual([{ digest: Buffer.alloc(32), atMs: 120_000 }]);
    uses.add('c', key('key_c'), 60_000);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(told).toHaveLength(2);
  });

  it('the report of uses continues after the store failed, and logs the failure', async () => {
    const warned: string[] = [];
    let isDown = true;
    const told: Use[] = [];
    const { uses, stop } = reporting(
      async (each) => {
        if (isDown) throw new Error('away');
        told.push(...each);
      },
      (_, text) => void warned.push(text),
    );
    uses.add('a', key('key_a'), 60_000);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(warned).toEqual(['the last uses of credentials could not be stored']);
    isDown = false;
    uses.add('b', key('key_b'), 120_000);
    await stop();
    expect(told).toMatchObject([{ keyId: 'key_b' }]);
  });
});
