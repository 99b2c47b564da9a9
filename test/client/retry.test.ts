import { describe, expect, it } from 'vitest';
import { GovApiError, GovNetworkError, retryAfter, spentUntil } from '../../src/client/errors.ts';
import { isTransient, pause, retryDelayMs } from '../../src/client/retry.ts';
import { limits } from '../../src/contract/limits.ts';
import { threadMs } from '../thread-ms.ts';

const api = (status: number, headers = {}, problem = {}) => new GovApiError(status, problem, headers);

describe('retried failures', () => {
  it.each([
    [api(429), true],
    [api(502), true],
    [api(503), true],
    [api(504), true],
    [api(500), false],
    [api(400), false],
    [api(409, {}, { code: 'IDEMPOTENCY_IN_FLIGHT' }), true],
    [api(409, {}, { code: 'CONFLICT' }), false],
    [api(429, {}, { code: 'QUOTA_EXCEEDED', retryable: false }), false],
    [new GovNetworkError('ECONNRESET', '', { retryable: true }), true],
    [new GovNetworkError('INVALID_RESPONSE', ''), false],
    [new Error('a bug'), false],
  ])('the client retries the failure %s: %s', (failure, expected) =>
    expect(isTransient(failure)).toBe(expected),
  );
});

describe('the retry delay', () => {
  it('the retry delay grows with the attempts, has full jitter and has a maximum', () => {
    expect(retryDelayMs(api(503), 0, 0)).toBe(0);
    expect(retryDelayMs(api(503), 0, 0.999)).toBe(249);
    expect(retryDelayMs(api(503), 3, 0.5)).toBe(1000);
    expect(retryDelayMs(api(503), 30, 0.5)).toBe(limits.clientBackoffMaxMs / 2);
  });

  it('the retry delay is at least Retry-After, and the client gives up when that is too long', () => {
    expect(retryDelayMs(api(503, { 'retry-after': '5' }), 0, 0)).toBe(5000);
    expect(retryDelayMs(api(503, { 'retry-after': '60' }), 0, 0)).toBe(60_000);
    expect(retryDelayMs(api(503, { 'retry-after': '61' }), 0, 0)).toBeNull();
  });

  it('the retry delay comes from RateLimit when there is no Retry-After', () => {
    expect(retryDelayMs(api(429, { ratelimit: '"default";r=0;t=7' }), 0, 0)).toBe(7000);
    expect(retryDelayMs(api(429, { ratelimit: '"default";r=0;t=7', 'retry-after': '9' }), 0, 0)).toBe(9000);
    expect(retryDelayMs(api(429, { ratelimit: '"default";r=0;t=61' }), 0, 0)).toBeNull();
  });

  it('a final failure has no retry delay', () => expect(retryDelayMs(api(404), 0, 0)).toBeNull());
});

describe('Retry-After', () => {
  it('Retry-After is read as seconds or as a date by the server’s clock', () => {
    const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
    expect(retryAfter('120', Number.NaN)).toBe(120);
    expect(retryAfter('Wed, 21 Oct 2026 07:28:09 GMT', Date.parse(date))).toBe(9);
    expect(retryAfter('Wed, 21 Oct 2026 07:27:00 GMT', Date.parse(date))).toBe(0);
    for (const bad of ['soon', '-1', '', '1e3']) expect(retryAfter(bad, 0)).toBeUndefined();
  });
});

describe('RateLimit', () => {
  it.each([
    ['"default";r=0;t=3', 3],
    ['"default"; r=0; t=3', 3],
    ['"a";r=0;t=2, "b";r=0;t=5, "c";r=1;t=60', 5],
    ['"default";r=1;t=3', undefined],
    ['"default";r=0', undefined],
    ['"default";r=0;t=-1', undefined],
    ['limit=10, remaining=0, reset=3', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('RateLimit %j means that every policy has calls left after %s seconds', (header, expected) => {
    expect(spentUntil(header)).toBe(expected);
  });

  it('a RateLimit header is read in time that is linear in its length', () => {
    const startedAt = threadMs();
    spentUntil(`"${'"a";r='.repeat(50_000)}`);
    spentUntil(`"a"${';r=0'.repeat(50_000)}`);
    expect(threadMs() - startedAt).toBeLessThan(1000);
  });
});

describe('pause', () => {
  it('a pause ends with the reason of its signal, also when the signal aborted earlier', async () => {
    const stop = new AbortController();
    const waiting = pause(60_000, stop.signal);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    await expect(pause(60_000, stop.signal)).rejects.toThrow('stopped');
  });
});
