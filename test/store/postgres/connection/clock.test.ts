/** The clock of a process beside that of its database. */
import { describe, expect, it } from 'vitest';
import { aheadMs, isApart } from '../../../../src/store/append/clock-skew.ts';
import type { PostgresStore } from '../../../../src/store/postgres/store.ts';
import { missing, Processes, server } from '../support/described.ts';

describe('the difference of two clocks', () => {
  const look = (theirsMs: number, tookMs = 0) => ({ askedMs: 1000, answeredMs: 1000 + tookMs, theirsMs });

  it('the difference of two clocks is measured at the middle between question and answer', () => {
    expect([aheadMs(look(1000)), aheadMs(look(1300)), aheadMs(look(0))]).toEqual([0, 300, -1000]);
    expect([aheadMs(look(1100, 200)), aheadMs(look(1000, 200))]).toEqual([0, -100]);
  });

  it.each([
    [6000, 0, false],
    [6001, 0, true],
    [-4000, 0, false],
    [-4001, 0, true],
    [6200, 200, false],
    [6201, 200, true],
    [-4001, 200, true],
  ])('clocks at %i, asked for %i ms, differ for sure by more than 5 s: %s', (theirsMs, tookMs, is) => {
    expect(isApart(look(theirsMs, tookMs), 5000)).toBe(is);
  });
});

describe.skipIf(missing !== null)('the clock of a process', () => {
  it('a process reports its clock while it differs by more than five seconds from the database', async () => {
    const processes = await Processes.on(server);
    const told: string[] = [];
    const store = (await processes.start({ onWarning: (text) => told.push(text) })) as PostgresStore;
    const reasonsAt = async (offMs: number): Promise<readonly string[]> => {
      await store.watchClock(() => Date.now() + offMs);
      return store.condition().reasons;
    };
    expect(await reasonsAt(0)).toEqual([]);
    expect(await reasonsAt(-4900)).toEqual([]);
    const text = (where: string): RegExp =>
      new RegExp(`^clock_skew: the database is \\d+ ms ${where}; synchronise both clocks \\(NTP\\)$`);
    expect(await reasonsAt(-90_000)).toEqual([expect.stringMatching(text('ahead'))]);
    expect(await reasonsAt(90_000)).toEqual([expect.stringMatching(text('behind'))]);
    expect(store.condition().writable).toBe(true);
    expect(await reasonsAt(4900)).toEqual([]);
    expect(told).toEqual([expect.stringMatching(text('ahead'))]);
    await processes.drop();
  });
});
