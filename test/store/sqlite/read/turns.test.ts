/** Turns of reads: one step per turn of the loop, projects alternate, and a flood refuses itself. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { codeOf } from '../../support/fixture.ts';
import { Turns } from '../../../../src/store/sqlite/read/turns.ts';

describe('reads that go through many rows', () => {
  it('run one step per turn of the loop, and projects alternate', async () => {
    const turns = new Turns();
    const order: string[] = [];
    const take = async (project: number, name: string) => (await turns.next(project), order.push(name));
    const all = [take(1, 'a'), take(1, 'b'), take(1, 'c'), take(2, 'x')];
    const after: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      await nextTurn();
      after.push(order.length);
    }
    await Promise.all(all);
    expect(order).toEqual(['a', 'x', 'b', 'c']);
    expect(Math.max(...after.map((count, at) => count - (after[at - 1] ?? 0)))).toBe(1);
  });

  it('are refused for the project with the most of them, at one too many', async () => {
    const turns = new Turns();
    const flood = Array.from({ length: limits.scansWaiting }, () => codeOf(turns.next(1)));
    const other = codeOf(turns.next(2));
    const more = codeOf(turns.next(1));
    expect(await other).toBe('none');
    expect(await more).toBe('OVERLOADED');
    const codes = await Promise.all(flood);
    expect(codes.filter((code) => code === 'OVERLOADED')).toHaveLength(1);
    expect(codes.filter((code) => code === 'none')).toHaveLength(limits.scansWaiting - 1);
  });
});
