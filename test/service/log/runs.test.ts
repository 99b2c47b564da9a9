import { describe, expect, it } from 'vitest';
import { Runs } from '../../../src/service/log/runs.ts';

const of = { projectId: 'p', runId: 'r' };
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the turns of a run', () => {
  it('work on a run is done one after the other, in order, also after a failure', async () => {
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

  it('work on different runs does not wait for each other', async () => {
    const runs = new Runs();
    let release = (): void => {};
    const blocked = runs.inTurn(of, () => new Promise<void>((resolve) => (release = resolve)));
    expect(await runs.inTurn({ ...of, runId: 's' }, async () => 'other run')).toBe('other run');
    expect(await runs.inTurn({ ...of, projectId: 'q' }, async () => 'other project')).toBe('other project');
    release();
    await blocked;
  });
});
