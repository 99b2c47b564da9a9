/** Proofs while the map of a log is built: they wait for one that is nearly complete, for a bounded time. */
import { afterEach, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { tasks } from '../../../src/service/tasks.ts';
import type { IndexInput, TaskContext } from '../../../src/service/call/work.ts';
import { appended, event, request } from '../../store/support/fixture.ts';
import { engines, projectId, shown } from './world.ts';

const changed: { -readonly [Name in 'indexBehind' | 'indexWaitSeconds']: number } = limits;
const { indexBehind, indexWaitSeconds } = limits;
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  Object.assign(changed, { indexBehind, indexWaitSeconds });
  for (const end of ends.splice(0)) await end();
});

/** A log of ten events and a genesis, whose map is built and pauses until `go` is called. */
async function building() {
  changed.indexBehind = 0; // so that eleven leaves are many
  const world = await engines['sqlite']!();
  ends.push(() => world.drop());
  await appended(world.store, request(Array.from({ length: 10 }, () => event({ runId: 'r1' }))));
  const { size, root } = await world.store.head(projectId, 'audit');
  const lists = await shown(world, 'r1');
  let go = (): void => {};
  const gate = new Promise<void>((resolve) => (go = resolve));
  const paused = Promise.withResolvers<void>();
  const host = { appendIndex: async () => size, saveMap: async () => {} } as never;
  const run = (mode: IndexInput['mode'], signedSize: number, breathe: TaskContext['breathe']) =>
    tasks.index(
      { reader: world.store, host, breathe },
      { projectId, mode, signed: { size: signedSize, root }, treeSize: size, lists },
    );
  const built = run('build', size, async () => {
    paused.resolve();
    await gate;
  });
  await paused.promise;
  const ask = (mode: IndexInput['mode'], lacking = 0) => run(mode, size + lacking, async () => {});
  return { ask, go, built };
}

describe('a proof while the map of the log is built', () => {
  it('a proof waits for a map that is nearly complete, and is compared with it', async () => {
    const { ask, go, built } = await building();
    let isAnswered = false;
    const asked = ask('check').finally(() => (isAnswered = true));
    // a later one that does not wait is answered first
    expect(await ask('check', limits.indexWaitLeaves + 1)).toBeNull();
    expect(isAnswered).toBe(false);
    go();
    expect(await asked).toMatchObject({ entries: [{ key: ['run', 'r1'] }] });
    expect(await built).not.toBeNull();
  });

  it('a proof does not wait for a map that lacks more leaves than the limit, nor does the background', async () => {
    const { ask, go, built } = await building();
    changed.indexWaitSeconds = 3600;
    expect(await ask('check', limits.indexWaitLeaves + 1)).toBeNull();
    expect(await ask('leaf', limits.indexWaitLeaves + 1)).toBeNull();
    expect(await ask('due')).toBeNull();
    let isAnswered = false;
    const atLimit = ask('check', limits.indexWaitLeaves)
      .catch(() => null) // the log has no such head
      .finally(() => (isAnswered = true));
    // a later one that does not wait is answered first
    expect(await ask('due')).toBeNull();
    expect(isAnswered).toBe(false);
    go();
    await Promise.all([built, atLimit]);
  });

  it('a proof waits no longer than the limit', async () => {
    const { ask, go, built } = await building();
    changed.indexWaitSeconds = 0.02;
    expect(await ask('leaf')).toBeNull();
    go();
    await built;
    expect(await ask('check')).not.toBeNull();
  });
});
