import { describe, expect, it } from 'vitest';
import { Recent } from '../../../src/service/call/recent.ts';

interface Found {
  readonly id: number;
  readonly untilMs: number;
}

const found =
  (id: number, untilMs = 1000) =>
  async (): Promise<Found> => ({ id, untilMs });

describe('what was found lately', () => {
  it('is believed until its time is over, and remembered as met after that', async () => {
    const recent = new Recent<Found>(10);
    expect([recent.get('a', 0), recent.has('a')]).toEqual([null, false]);
    await recent.find('a', found(1));
    expect([recent.get('a', 999)?.id, recent.get('a', 1000), recent.has('a')]).toEqual([1, null, true]);
    await recent.find('a', found(2, 2000));
    expect(recent.get('a', 1999)?.id).toBe(2);
  });

  it('is as much as it may be; the one found longest ago goes first', async () => {
    const recent = new Recent<Found>(3);
    for (const name of ['a', 'b', 'c']) await recent.find(name, found(1));
    await recent.find('a', found(2));
    await recent.find('d', found(1));
    expect(['a', 'b', 'c', 'd'].map((name) => recent.has(name))).toEqual([true, false, true, true]);
  });

  it('is forgotten by what it is, and nothing else with it', async () => {
    const recent = new Recent<Found>(10);
    await recent.find('a', found(1));
    await recent.find('b', found(2));
    recent.forget(({ id }) => id === 1);
    expect([recent.get('a', 0), recent.get('b', 0)?.id]).toEqual([null, 2]);
  });

  it('is not kept where something was forgotten while it was asked for', async () => {
    const recent = new Recent<Found>(10);
    let answer: (value: Found) => void = () => {};
    const asked = recent.find('a', () => new Promise((resolve) => (answer = resolve)));
    recent.forget(() => false);
    answer({ id: 1, untilMs: 1000 });
    expect((await asked).id).toBe(1);
    expect(recent.has('a')).toBe(false);
  });

  it('is nothing where asking failed', async () => {
    const recent = new Recent<Found>(10);
    await expect(recent.find('a', () => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer');
    expect(recent.has('a')).toBe(false);
  });
});
