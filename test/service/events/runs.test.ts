import { describe, expect, it } from 'vitest';
import { Runs } from '../../../src/service/events/runs.ts';

const of = { projectId: 'p', runId: 'r' };
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the turns of a run', () => {
  it('come one after the other, in order, also after a failure', async () => {
    const runs = new Runs();
    const log: string[] = [];
    const work = (name: string, fails = false) =>
      runs.inTurn(of, async () => {
        log.push(`${name} begins`);
        await settle();
        log.push(`${name} ends`);
        if (fails) throw new Error(name);
        return name;
      });
    const results = await Promise.allSettled([work('a'), work('b', true), work('c')]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  });

  it('of different runs do not wait for each other', async () => {
    const runs = new Runs();
    let release = (): void => {};
    const blocked = runs.inTurn(of, () => new Promise<void>((resolve) => (release = resolve)));
    expect(await runs.inTurn({ ...of, runId: 's' }, async () => 'other run')).toBe('other run');
    expect(await runs.inTurn({ ...of, projectId: 'q' }, async () => 'other project')).toBe('other project');
    release();
    await blocked;
  });
});

describe('a hold', () => {
  it('keeps waiting whoever asks for the run until it is released', async () => {
    const runs = new Runs();
    expect(runs.holding).toBe(false);
    const release = runs.hold(of);
    expect(runs.holding).toBe(true);
    let passed = false;
    const waiting = (async () => {
      await runs.free('p', ['x', 'r']);
      passed = true;
    })();
    await runs.free('p', ['x']);
    await runs.free('q', ['r']);
    expect(passed).toBe(false);
    release();
    await waiting;
    expect([passed, runs.holding]).toEqual([true, false]);
  });

  it('that follows another is waited for too', async () => {
    const runs = new Runs();
    const first = runs.hold(of);
    const second = runs.hold(of);
    let passed = false;
    const waiting = (async () => {
      await runs.free('p', ['r']);
      passed = true;
    })();
    first();
    await settle();
    expect(passed).toBe(false);
    second();
    await waiting;
  });
});
