import { describe, expect, it } from 'vitest';
import { CredentialCache } from '../../../src/service/call/recent.ts';

interface Found {
  readonly id: number;
  readonly untilMs: number;
}

const found =
  (id: number, untilMs = 1000) =>
  async (): Promise<Found> => ({ id, untilMs });

describe('what was found lately', () => {
  it('a cached look-up is valid until its time is over, and its name is still known after that', async () => {
    const recent = new CredentialCache<Found>(10);
    expect([recent.get('a', 0), recent.has('a')]).toEqual([null, false]);
    await recent.find('a', found(1));
    expect([recent.get('a', 999)?.id, recent.get('a', 1000), recent.has('a')]).toEqual([1, null, true]);
    await recent.find('a', found(2, 2000));
    expect(recent.get('a', 1999)?.id).toBe(2);
  });

  it('the cache has a limit, and drops the oldest look-up first', async () => {
    const recent = new CredentialCache<Found>(3);
    for (const name of ['a', 'b', 'c']) await recent.find(name, found(1));
    await recent.find('a', found(2));
    await recent.find('d', found(1));
    expect(['a', 'b', 'c', 'd'].map((name) => recent.has(name))).toEqual([true, false, true, true]);
  });

  it('a cached look-up is forgotten by its content, and no other with it', async () => {
    const recent = new CredentialCache<Found>(10);
    await recent.find('a', found(1));
    await recent.find('b', found(2));
    recent.forget(({ id }) => id === 1);
    expect([recent.get('a', 0), recent.get('b', 0)?.id]).toEqual([null, 2]);
  });

  it('a look-up is not cached when an entry was dropped while it ran', async () => {
    const recent = new CredentialCache<Found>(10);
    let answer: (value: Found) => void = () => {};
    const asked = recent.find('a', () => new Promise((resolve) => (answer = resolve)));
    recent.forget(() => false);
    answer({ id: 1, untilMs: 1000 });
    expect((await asked).id).toBe(1);
    expect(recent.has('a')).toBe(false);
  });

  it('a failed look-up is not cached', async () => {
    const recent = new CredentialCache<Found>(10);
    await expect(recent.find('a', () => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer');
    expect(recent.has('a')).toBe(false);
  });
});
