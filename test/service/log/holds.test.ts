/** Requests that wait for the log: they end when it is over, at their time, and when the process stops. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { Holds } from '../../../src/service/log/holds.ts';
import { Tail } from '../../../src/service/log/tail.ts';

const never = async () => false;
const longMs = 3_600_000;

function holding() {
  const tail = new Tail({});
  return { tail, holds: new Holds(tail) };
}

describe('a held request', () => {
  it('ends after the log grew, if it is over then', async () => {
    const { tail, holds } = holding();
    let looks = 0;
    const held = holds.until({ projectId: 'p', waitMs: longMs, isOver: async () => (looks += 1) > 2 });
    const growing = setInterval(() => tail.grew('p'), 5);
    await held;
    clearInterval(growing);
    expect(looks).toBe(3);
  });

  it('does not look while the log of its project stays the same', async () => {
    const { tail, holds } = holding();
    let looks = 0;
    const isOver = async () => (looks += 1) < 0;
    const held = holds.until({ projectId: 'p', waitMs: 200, isOver });
    tail.grew('other');
    await held;
    expect(looks).toBe(1);
  });

  it(`looks at most every ${limits.holdLookMs} ms`, async () => {
    const { tail, holds } = holding();
    let looks = 0;
    const growing = setInterval(() => tail.grew('p'), 1);
    await holds.until({
      projectId: 'p',
      waitMs: 2.5 * limits.holdLookMs,
      isOver: async () => (looks += 1) < 0,
    });
    clearInterval(growing);
    expect(looks).toBeLessThanOrEqual(3);
    expect(looks).toBeGreaterThan(1);
  });

  it(`${limits.heldRequests} wait at once, and the next one does not`, async () => {
    const { holds } = holding();
    const hold = { projectId: 'p', waitMs: longMs, isOver: never };
    let ended = 0;
    const held = Array.from({ length: limits.heldRequests }, () =>
      holds.until(hold).then(() => (ended += 1)),
    );
    await holds.until(hold);
    expect(ended).toBe(0);
    holds.end();
    await Promise.all(held);
    await holds.until(hold);
    expect(ended).toBe(limits.heldRequests);
  });
});
