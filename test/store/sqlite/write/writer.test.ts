/** Group commit: what a commit takes, and in which order promises are kept. */
import { afterEach, describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import type { SqliteStore, StoreOptions } from '../../../../src/store/sqlite/store.ts';
import { event, genesis, projectOf, request } from '../../support/fixture.ts';
import { TestPlane } from '../../support/plane.ts';

const planes: TestPlane[] = [];
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});

/** A store, and the number of commits since it was asked last. */
async function counted(
  more: Partial<StoreOptions> = {},
): Promise<{ store: SqliteStore; commits: () => number }> {
  const plane = new TestPlane();
  planes.push(plane);
  let commits = 0;
  const store = plane.open({
    ...more,
    faults: {
      before: (step) => {
        if (step === 'commit') commits += 1;
      },
    },
  });
  await store.createProject(projectOf('a'), genesis('a'));
  commits = 0;
  return { store, commits: () => commits };
}

describe('a commit', () => {
  it('a commit takes the waiting requests up to the limit of requests', async () => {
    const { store, commits } = await counted();
    const send = (count: number) =>
      Promise.all(Array.from({ length: count }, () => store.append(request([event()]))));
    await send(1);
    expect(commits()).toBe(1);
    await send(limits.commitRequests);
    expect(commits()).toBe(2);
    await send(limits.commitRequests + 1);
    expect(commits()).toBe(4);
    await store.close();
  });

  it('a commit takes requests up to the limit of bytes, and a larger request alone', async () => {
    const { store, commits } = await counted();
    const quarter = request(
      Array.from({ length: 10 }, () => event({ metadata: { text: 'x'.repeat(limits.commitBytes / 40) } })),
    );
    await Promise.all([quarter, quarter, quarter].map((each) => store.append(each)));
    expect(commits()).toBe(1);
    await Promise.all([quarter, quarter, quarter, quarter, quarter].map((each) => store.append(each)));
    expect(commits()).toBe(3);
    const huge = request(
      quarter.leaves.concat(quarter.leaves, quarter.leaves, quarter.leaves, quarter.leaves),
    );
    await Promise.all([store.append(huge), store.append(request([event()]))]);
    expect(commits()).toBe(5);
    await store.close();
  });

  it('a commit ends before any of its promises resolves, and resolves them in order', async () => {
    const { store, commits } = await counted();
    const kept: [number, number][] = [];
    await Promise.all(
      Array.from({ length: 5 }, (_, at) =>
        store.append(request([event()])).then(() => kept.push([at, commits()])),
      ),
    );
    expect(kept).toEqual([0, 1, 2, 3, 4].map((at) => [at, 1]));
    await store.close();
  });

  it.each([
    ['in this thread', {}],
    ['in a thread of its own', { thread: true }],
  ])(
    'a commit takes requests of projects in turn and is small when they share: %s',
    async (_where, options) => {
      const { store } = await counted(options);
      await store.createProject(projectOf('b'), genesis('b'));
      const text = 'x'.repeat(limits.commitSharedBytes / 8);
      const large = request([event({ metadata: { text } })]);
      const order: string[] = [];
      const send = async (name: string, sent: typeof large) => {
        await store.append(sent);
        order.push(name);
      };
      const flood = Array.from({ length: 40 }, async () => send('ada', large));
      const single = send('bob', request([event()], { projectId: 'prj_b' }));
      await Promise.all([...flood, single]);
      expect(order.indexOf('bob')).toBeLessThan(8);
      await store.close();
    },
  );

  it('the writer makes no commit when nothing waits', async () => {
    const { store, commits } = await counted();
    expect(await store.claimJob(1, 1000)).toBeNull();
    await store.runs('prj_a', {}, { limit: 10 });
    expect(commits()).toBe(0);
    await store.close();
  });
});
