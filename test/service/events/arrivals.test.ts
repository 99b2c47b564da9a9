import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { EventTails, type NewEventFilter } from '../../../src/service/events/arrivals.ts';
import { Tail } from '../../../src/service/log/tail.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { appended, event, genesis, projectOf, request, seededBytes } from '../../store/support/fixture.ts';
import { digestsOf, erasing } from '../../store/support/erasing.ts';
import { TestPlane } from '../../store/support/plane.ts';

const planes: TestPlane[] = [];
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});

/** A real store; how often it was read, and whether its next reads fail. */
async function opened() {
  const plane = new TestPlane();
  planes.push(plane);
  const store = plane.open();
  await store.createProject(projectOf('a'), genesis('a'));
  const tail = new Tail({});
  const state = { reads: 0, failing: false };
  const counted: Pick<Store, 'eventsAfter' | 'head'> = {
    head: (...values) => store.head(...values),
    eventsAfter: async (...values) => {
      state.reads += 1;
      if (state.failing) throw new Error('not now');
      return store.eventsAfter(...values);
    },
  };
  const append = async (...events: readonly Parameters<typeof event>[0][]): Promise<void> => {
    await appended(store, request(events.map(event)));
    tail.grew('prj_a');
  };
  return { store, tails: new EventTails({ store: counted, tail }), append, state };
}

type Tails = Awaited<ReturnType<typeof opened>>['tails'];

/** Reads as a stream does: when it is woken, page after page. */
function follow(tails: Tails, filter: NewEventFilter = {}, from = 0) {
  const seen: number[] = [];
  const texts: string[] = [];
  let [after, busy, again, wakes] = [from, false, false, 0];
  const pump = async (): Promise<void> => {
    again = true;
    if (busy) return;
    busy = true;
    while (again) {
      again = false;
      for (;;) {
        const page = await reader.read(after);
        for (const each of page.events) {
          seen.push(each.index);
          texts.push(each.text ?? '');
        }
        after = page.after;
        if (!page.more) break;
      }
    }
    busy = false;
  };
  const reader = tails.watch('prj_a', filter, () => {
    wakes += 1;
    void pump();
  });
  void pump();
  const isIdle = (): boolean => !busy;
  return { seen, texts, end: () => reader.end(), wakes: () => wakes, after: () => after, isIdle };
}

describe('readers of one log', () => {
  it('readers of one log each get every matching event once and in order, wherever they begin and whatever its size', async () => {
    const { store, tails, append } = await opened();
    const random = seededBytes('sizes');
    const size = (): number => random(2).readUInt16BE();
    const runs = ['r1', 'r2', 'r3'];
    const types = ['tool.call', 'tool.result'];
    const readers = [follow(tails)];
    const filters: NewEventFilter[] = [{}, ...runs.map((runId) => ({ runId })), { eventType: types[0]! }];
    for (let round = 0; round < 60; round += 1) {
      const count = size() % 40 === 0 ? limits.streamPageEvents + 20 : 1 + (size() % 4);
      const fill = size() % 7 === 0 ? 'x'.repeat(limits.streamHeldBytes / 3) : 'x';
      const made = Array.from({ length: count }, () => ({
        runId: runs[size() % 3]!,
        eventType: types[size() % 2]!,
        metadata: count > 4 ? {} : { fill },
      }));
      const appending = append(...made);
      if (round % 5 === 0) {
        const from = round % 2 === 0 ? 0 : round;
        readers.push(...filters.map((filter) => follow(tails, filter, from)));
      }
      await appending;
    }
    const { size: total } = await store.head('prj_a', 'audit');
    await expect.poll(() => readers.every(({ after }) => after() === total - 1)).toBe(true);
    const expected = async (filter: NewEventFilter, after: number) =>
      (await store.eventsAfter('prj_a', filter, { after, limit: 100_000 })).map(({ index }) => index);
    const all = await expected({}, 0);
    expect(readers[0]?.seen).toEqual(all);
    for (const [at, reader] of readers.slice(1).entries()) {
      const round = Math.floor(at / filters.length) * 5;
      const from = round % 2 === 0 ? 0 : round;
      expect(reader.seen).toEqual(await expected(filters[at % filters.length]!, from));
    }
    expect(JSON.parse(readers[0]?.texts[0] ?? '')).toMatchObject({ sequence: all[0] });
  }, 30_000);

  it('readers of one log cost one read of the log for all of them, at most each time they wake', async () => {
    const { tails, append, state } = await opened();
    await append({});
    const readers = Array.from({ length: 100 }, () => follow(tails, { runId: 'none' }, 1));
    await expect.poll(() => readers.every(({ after }) => after() === 1)).toBe(true);
    await expect.poll(() => readers.every(({ isIdle }) => isIdle())).toBe(true);
    state.reads = 0;
    const since = performance.now();
    for (let size = 2; size <= 201; size += 1) {
      await append({});
      // readers who are a page behind read for themselves
      if (size % 50 === 1) await expect.poll(() => readers.every(({ after }) => after() === size)).toBe(true);
    }
    // a timer may be early or late by a turn
    const wakes = Math.ceil((performance.now() - since) / limits.streamWakeMs) + 3;
    for (const reader of readers) expect(reader.wakes()).toBeLessThanOrEqual(wakes);
    expect(state.reads).toBeLessThanOrEqual(2 * wakes);
    expect(readers.flatMap(({ seen }) => seen)).toEqual([]);
  });

  it('readers of one log wake at once after a pause', async () => {
    const { tails, append } = await opened();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    onTestFinished(() => clock.mockRestore());
    const reader = follow(tails);
    await append({});
    expect(reader.wakes()).toBe(1);
    clock.mockReturnValue(limits.streamWakeMs);
    await append({});
    expect(reader.wakes()).toBe(2);
  });

  it("readers of one log get the store's error, and continue once it can be read", async () => {
    const { tails, append, state } = await opened();
    const reader = tails.watch('prj_a', {}, () => {});
    expect(await reader.read(0)).toEqual({ events: [], after: 0, more: false });
    await append({});
    state.failing = true;
    await expect(reader.read(0)).rejects.toThrow('not now');
    state.failing = false;
    const { events, after } = await reader.read(0);
    expect([events.map(({ index }) => index), after]).toEqual([[1], 1]);
  });

  it('readers of one log do not wake after their end, and leave nothing waiting', async () => {
    const { tails, append } = await opened();
    const [one, other] = [follow(tails), follow(tails)];
    one.end();
    one.end();
    await append({});
    await expect.poll(() => other.seen).toEqual([1]);
    expect([one.seen, one.wakes()]).toEqual([[], 0]);
    other.end();
    await append({});
    expect(other.seen).toEqual([1]);
    const again = follow(tails, {}, 1);
    await expect.poll(() => again.seen).toEqual([2]);
  });

  it('readers of one log get no values that were erased in the meantime, also from memory', async () => {
    const { store, tails, append } = await opened();
    const reader = tails.watch('prj_a', {}, () => {});
    await reader.read(0);
    await append({ metadata: { secret: 'held' } });
    const [held] = (await reader.read(0)).events;
    expect(held!.text).toContain('held');
    const { index } = held!;
    const digests = [...digestsOf((await store.leaf('prj_a', index))!).values()];
    await appended(store, erasing([{ index, digests }]));
    await append({ runId: 'gov.system', eventType: 'erasure.executed' });
    await reader.read(index); // somebody looks
    const [again] = (await reader.read(0)).events;
    expect([again!.index, again!.text?.includes('held')]).toEqual([index, false]);
    reader.end();
  });

  it('readers of one log may ask for an index far ahead', async () => {
    const { tails, append } = await opened();
    const [ahead, reader] = [follow(tails, {}, 1_000_000), follow(tails)];
    await append({});
    await expect.poll(() => reader.seen).toEqual([1]);
    expect([ahead.seen, ahead.after()]).toEqual([[], 1_000_000]);
  });
});
