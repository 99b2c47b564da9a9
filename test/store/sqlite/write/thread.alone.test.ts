/** What only a store that writes in a thread can do: end. `thread-suite.long.test.ts` has all the rest. */
import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import type { AppendRequest } from '../../../../src/store/port/store.ts';
import type { SqliteStore } from '../../../../src/store/sqlite/store.ts';
import { codeOf, event, genesis, projectOf, request, stored } from '../../support/fixture.ts';
import { TestPlane } from '../../support/plane.ts';

const planes: TestPlane[] = [];
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});

interface Threaded {
  readonly plane: TestPlane;
  readonly store: SqliteStore;
  readonly thread: Worker;
  readonly faults: string[];
}

async function threaded(): Promise<Threaded> {
  const plane = new TestPlane();
  planes.push(plane);
  const faults: string[] = [];
  const threads: Worker[] = [];
  const store = plane.open({
    thread: true,
    faults: { before: () => undefined, started: (thread) => threads.push(thread) },
    onFault: (error) => faults.push(error.code),
  });
  await store.createProject(projectOf('a'), genesis('a'));
  return { plane, store, thread: threads[0]!, faults };
}

describe('a store with a writer thread', () => {
  it('a store whose writer thread ends refuses writes, reports it once, and loses no answered write', async () => {
    const { plane, store, thread, faults } = await threaded();
    await stored(store, request([event()]));
    const asked = Array.from({ length: 20 }, () => codeOf(store.append(request([event()]))));
    await new Promise((resolve) => setImmediate(resolve)); // sent
    const late = codeOf(store.append(request([event()])));
    await thread.terminate();
    const codes = [...(await Promise.all(asked)), await late];
    for (const code of codes) expect(code).toMatch(/^(?:none|STORAGE_FAULT)$/);
    expect(await codeOf(store.append(request([event()])))).toBe('STORAGE_FAULT');
    expect(faults).toEqual(['STORAGE_FAULT']);
    expect(store.condition()).toMatchObject({
      writable: false,
      reasons: [expect.stringMatching(/^storage_fault: /)],
      queued: 0,
    });
    expect((await store.head('prj_a', 'audit')).size).toBeGreaterThanOrEqual(2);
    await store.close();
    const again = plane.open();
    const { size } = await again.head('prj_a', 'audit');
    expect(size).toBeGreaterThanOrEqual(2 + codes.filter((code) => code === 'none').length);
    await stored(again, request([event()]));
    await again.close();
    expect((await plane.fsck()).problems).toEqual([]);
  });

  it('a store ends a writer thread with an unreadable message, refuses writes, and closes', async () => {
    const { plane, store, thread, faults } = await threaded();
    await stored(store, request([event()]));
    const asked = codeOf(store.append(request([event()])));
    await new Promise((resolve) => setImmediate(resolve)); // sent
    thread.emit('messageerror', new Error('not to be read'));
    expect([await asked, await codeOf(store.append(request([event()])))]).toEqual(
      Array(2).fill('STORAGE_FAULT'),
    );
    await store.close();
    expect([thread.threadId, faults]).toEqual([-1, ['STORAGE_FAULT']]);
    expect((await plane.fsck()).problems).toEqual([]);
  });

  it('a store refuses a request that cannot be cloned as a bug, alone, and continues', async () => {
    const { store, faults } = await threaded();
    const broken = { ...request([event()]), surprise: () => 1 } as AppendRequest;
    const sent = [request([event()]), broken, ...Array.from({ length: 20 }, () => request([event()]))];
    const codes = await Promise.all(sent.map((each) => codeOf(store.append(each))));
    expect(codes).toEqual(sent.map((each) => (each === broken ? 'INTERNAL' : 'none')));
    expect((await stored(store, request([event()]))).assigned[0]).toMatchObject({ index: sent.length });
    expect(faults).toEqual([]);
    await store.close();
  });

  it('requests that wait behind a refused one are written even if no other request follows', async () => {
    const { store } = await threaded();
    await store.createProject(projectOf('b'), genesis('b'));
    await stored(store, request([event()], { projectId: 'prj_b' })); // so that commits are small
    const text = 'x'.repeat(limits.metadataBytes - 100);
    const broken = {
      ...request([event({ metadata: { text } }), event({ metadata: { text } })]),
      surprise: () => 1,
    } as AppendRequest;
    const [first, second] = [codeOf(store.append(broken)), codeOf(store.append(request([event()])))];
    expect([await first, await second]).toEqual(['INTERNAL', 'none']);
    await store.close();
  });

  it('a writer thread gets waiting requests at once, up to a limit ahead of its answers', async () => {
    const { store, thread } = await threaded();
    const post = vi.spyOn(thread, 'postMessage');
    const sent = () => post.mock.calls.map(([message]) => (message as { writes: unknown[] }).writes.length);
    const { commitAheadRequests: least, commitAheadMost: most } = limits;
    const asked: Promise<unknown>[] = [];
    const ask = (count: number) => {
      for (let at = 0; at < count; at++) asked.push(store.append(request([event()])));
    };
    // within one turn: no answer comes meanwhile
    ask(least - 1);
    expect(sent()).toEqual([]);
    ask(1);
    expect(sent()).toEqual([least]);
    ask(most - least - 1);
    const before = sent();
    expect(before.reduce((sum, count) => sum + count)).toBe(most - least);
    ask(1);
    expect(sent()).toEqual([...before, least]);
    ask(2 * least);
    expect(sent()).toEqual([...before, least]);
    const outcomes = await Promise.all(asked);
    expect(outcomes).toEqual(
      asked.map((_, at) =>
        expect.objectContaining({ assigned: [expect.objectContaining({ index: at + 1 })] }),
      ),
    );
    await store.close();
  });

  it('a writer thread gets a large request in parts, one in a turn, and stores it whole and in order', async () => {
    const { plane, store, thread } = await threaded();
    const post = vi.spyOn(thread, 'postMessage');
    const text = 'x'.repeat(limits.metadataBytes - 100);
    const large = () => request(Array.from({ length: 12 }, (_, n) => event({ metadata: { text, n } })));
    const asked = [large(), request([event()]), large()].map((each) => store.append(each));
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(post.mock.calls.length).toBeLessThan(5); // not all of it within a turn
    const outcomes = await Promise.all(asked);
    const indexes = outcomes.flatMap((outcome) =>
      'assigned' in outcome ? outcome.assigned.map((each) => ('index' in each ? each.index : -1)) : [],
    );
    expect(indexes).toEqual(Array.from({ length: 25 }, (_, at) => at + 1));
    expect(post.mock.calls.map(([message]) => (message as { kind: string }).kind)).toContain('leaves');
    await store.close();
    expect((await plane.fsck()).problems).toEqual([]);
  });

  it('a large request that cannot be cloned is refused as a bug, alone, and leaves nothing behind', async () => {
    const { plane, store } = await threaded();
    const text = 'x'.repeat(limits.metadataBytes - 100);
    const large = () => request(Array.from({ length: 12 }, (_, n) => event({ metadata: { text, n } })));
    const sent = [
      request([event()]),
      { ...large(), surprise: () => 1 } as AppendRequest,
      large(),
      request([event()]),
    ];
    const codes = await Promise.all(sent.map((each) => codeOf(store.append(each))));
    expect(codes).toEqual(['none', 'INTERNAL', 'none', 'none']);
    expect((await store.head('prj_a', 'audit')).size).toBe(15);
    await store.close();
    expect((await plane.fsck()).problems).toEqual([]);
  });

  it('a writer thread that ends between two parts refuses the request, and stores nothing of it', async () => {
    const { plane, store, thread } = await threaded();
    await stored(store, request([event()]));
    const text = 'x'.repeat(limits.metadataBytes - 100);
    const asked = codeOf(
      store.append(request(Array.from({ length: 12 }, (_, n) => event({ metadata: { text, n } })))),
    );
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    await thread.terminate();
    expect(await asked).toBe('STORAGE_FAULT');
    await store.close();
    const again = plane.open();
    expect((await again.head('prj_a', 'audit')).size).toBe(2);
    await again.close();
    expect((await plane.fsck()).problems).toEqual([]);
  });

  it('a writer thread gets the remaining requests at the end of the turn', async () => {
    const { store, thread } = await threaded();
    const post = vi.spyOn(thread, 'postMessage');
    const asked = [store.append(request([event()])), store.append(request([event()]))];
    await new Promise((resolve) => setImmediate(resolve));
    expect(post).toHaveBeenCalledTimes(1);
    await Promise.all(asked);
    await store.close();
  });

  it('a writer thread gets nothing ahead of a commit for which others would wait long', async () => {
    const { store, thread } = await threaded();
    const post = vi.spyOn(thread, 'postMessage');
    const half = event({ metadata: { text: 'x'.repeat(limits.commitSharedBytes / 2) } });
    const asked = [store.append(request([half, half]))];
    await new Promise((resolve) => setImmediate(resolve));
    for (let at = 0; at < limits.commitAheadRequests; at++) asked.push(store.append(request([event()])));
    expect(post).toHaveBeenCalledTimes(1);
    await Promise.all(asked);
    await store.close();
  });

  it('a refusal of the writer thread keeps its error code and message', async () => {
    const { store } = await threaded();
    await expect(store.createProject(projectOf('a'), genesis('a'))).rejects.toMatchObject({
      name: 'GovError',
      code: 'CONFLICT',
      message: expect.stringContaining('prj_a, which exists') as string,
    });
    await store.close();
  });

  it('a writer thread uses the clock of the store, and log time never runs backwards', async () => {
    const { plane, store } = await threaded();
    const timeOf = async () => {
      const [first] = (await stored(store, request([event()]))).assigned;
      return first?.outcome === 'appended' ? first.serverMs : -1;
    };
    plane.clock.ms += 5000;
    const later = await timeOf();
    expect(later).toBe(plane.clock.ms);
    plane.clock.ms -= 60_000;
    expect(await timeOf()).toBe(later);
    await store.close();
  });

  it('a closed store has ended its writer thread, refuses writes, and may be closed again', async () => {
    const { store, thread } = await threaded();
    await store.close();
    await store.close();
    expect(thread.threadId).toBe(-1);
    expect(await codeOf(store.append(request([event()])))).toBe('SHUTTING_DOWN');
  });
});
