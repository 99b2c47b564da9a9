import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { Overload } from '../../../src/http/admit/overload.ts';
import { startPlane } from '../../support/serving.ts';

/** Blocks the event loop, then lets the measuring timer run once. */
async function stall(ms: number): Promise<void> {
  const until = performance.now() + ms;
  while (performance.now() < until);
  // timers run between two of these
  await nextTurn();
  await nextTurn();
}

describe('shedding load', () => {
  it('the server sheds load while the write queue is over its limit', () => {
    let queued: number = limits.writeQueue;
    const overload = new Overload(() => queued);
    expect(overload.reason()).toBeNull();
    queued += 1;
    expect(overload.reason()).toBe('the write queue is full');
    expect(() => overload.check()).toThrow(/repeat the request later/);
    overload.stop();
  });

  it('the server sheds load while the event loop lags, and stops when it does not', async () => {
    const overload = new Overload(() => 0, { delayMs: 500 });
    await stall(1200);
    expect(overload.reason()).toBe('the event loop lags');
    // measured again every quarter of a second
    await expect.poll(() => overload.reason()).toBeNull();
    overload.stop();
  });

  it('the server sheds load while memory is over its limit', async () => {
    const overload = new Overload(() => 0, { memoryBytes: 1 });
    await stall(300);
    expect(overload.reason()).toBe('memory is short');
    overload.stop();
  });

  it('the server sheds load with 503 and Retry-After, but still answers health', async () => {
    const plane = await startPlane({ overloadDelayMs: 100 });
    // again, if a busy machine sends the request later than the server measures the next time
    const afterStall = async () => {
      await stall(700);
      const { status, body, headers } = await plane.call('GET', '/runs');
      return [status, body.code, headers['retry-after']];
    };
    await expect.poll(afterStall).toEqual([503, 'OVERLOADED', String(limits.overloadRetrySeconds)]);
    await plane.end();
    const other = await startPlane({ overloadDelayMs: 100 });
    await stall(700);
    expect((await other.call('GET', '/health/live')).status).toBe(200);
    await other.end();
  });
});
