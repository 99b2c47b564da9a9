/** Reads: pages, filters, counts, the live tail. */
import { describe, expect, it } from 'vitest';
import { leafHash } from '../../../../src/core/merkle/tree.ts';
import { openEvent } from '../../../../src/core/events/record.ts';
import { draftLeaf } from '../../../../src/core/events/record.ts';
import type { Store } from '../../../../src/store/port/store.ts';
import type { Leaf } from '../../../../src/store/port/store.ts';
import type { Bodies } from '../../../../src/store/port/store.ts';
import { appended, event, request, startMs } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';

const at = (minute: number): string => new Date(startMs + minute * 60_000).toISOString();
const indexes = (leaves: readonly Leaf[]): number[] => leaves.map(({ index }) => index);

/** Two runs, interleaved, with types and client times of their own. */
async function fill(store: Store): Promise<void> {
  for (let minute = 0; minute < 12; minute += 1) {
    await appended(
      store,
      request([
        event({
          runId: 'even',
          timestamp: at(minute),
          eventType: minute % 3 === 0 ? 'tool.call' : 'model.invoked',
        }),
        event({ runId: 'odd', timestamp: at(100 - minute), eventType: 'tool.result', aiSystemId: 'sys' }),
      ]),
    );
  }
}

describe('events of a run', () => {
  it('events of a run come in index order or reverse, in pages that neither repeat nor skip', async () => {
    const { store, drop } = await open();
    await fill(store);
    const all = Array.from({ length: 12 }, (_, each) => 1 + 2 * each);
    for (const order of ['asc', 'desc'] as const) {
      const seen: number[] = [];
      for (let after: number | undefined; ;) {
        const position = after === undefined ? {} : { after };
        const page = await store.events('prj_a', { runId: 'even' }, { ...position, limit: 5, order });
        seen.push(...indexes(page));
        after = page.at(-1)?.index;
        if (page.length < 5) break;
      }
      expect(seen).toEqual(order === 'asc' ? all : all.toReversed());
    }
    await drop();
  });

  it('events of a run are found by type and by inclusive client time', async () => {
    const { store, drop } = await open();
    await fill(store);
    const find = async (filter: { eventType?: string; startMs?: number; endMs?: number }) =>
      indexes(await store.events('prj_a', { runId: 'even', ...filter }, { limit: 100, order: 'asc' }));
    expect(await find({ eventType: 'tool.call' })).toEqual([1, 7, 13, 19]);
    expect(await find({ eventType: 'never.seen' })).toEqual([]);
    const [from, to] = [startMs + 3 * 60_000, startMs + 5 * 60_000];
    expect(await find({ startMs: from, endMs: to })).toEqual([7, 9, 11]);
    expect(await find({ startMs: from + 1, endMs: to - 1 })).toEqual([9]);
    expect(await find({ eventType: 'tool.call', startMs: from })).toEqual([7, 13, 19]);
    expect(await find({ startMs: to, endMs: from })).toEqual([]);
    expect(await store.events('prj_a', { runId: 'none' }, { limit: 10, order: 'asc' })).toEqual([]);
    await drop();
  });

  it('events of a run have exactly the values that the client sent', async () => {
    const { store, drop } = await open();
    const metadata = { a: { '': [1.5, null, '\u2028'] }, 'b/c~d': 'x', n: 9007199254740991 };
    await appended(store, request([event({ metadata, resource: 'plain text', causedBy: ['c1'] })]));
    const [leaf] = await store.events('prj_a', { runId: 'r1' }, { limit: 1, order: 'asc' });
    expect(openEvent(leaf!.index, leaf!.record, leaf!.disclosures!)).toMatchObject({
      runId: 'r1',
      actor: { name: 'agent', role: 'agent' },
      resource: 'plain text',
      action: 'execute',
      timestamp: '2026-01-01T00:00:00Z',
      metadata,
      causedBy: ['c1'],
      clientEventId: null,
      sequence: 1,
    });
    await drop();
  });

  it('events of a run are counted below every index, however unevenly the run grew', async () => {
    const { store, drop } = await open();
    const parts = [1, 40, 2, 0, 0, 30, 1, 0, 1, 3, 0, 0, 0, 25];
    const kinds = parts.flatMap((events) => [
      ...Array<string>(events).fill('burst'),
      ...Array<string>(9).fill('other'),
    ]);
    await appended(store, request(kinds.map((runId) => event({ runId }))));
    for (let index = 0; index <= kinds.length + 2; index += 1) {
      const before = kinds.slice(0, Math.max(0, index - 1)).filter((runId) => runId === 'burst').length;
      expect(await store.runEventsBelow('prj_a', 'burst', index), `below ${index}`).toBe(before);
    }
    await drop();
  });

  it('events of a run are read by run sequence, below an index, with or without bodies', async () => {
    const { store, drop } = await open();
    await fill(store);
    const read = (fromSeq: number, beforeIndex: number, limit: number, bodies: Bodies) =>
      store.runLeaves('prj_a', 'odd', { fromSeq, beforeIndex, limit, bodies });
    expect(indexes(await read(0, 1000, 1000, false))).toEqual(
      Array.from({ length: 12 }, (_, each) => 2 + 2 * each),
    );
    expect(indexes(await read(3, 12, 100, false))).toEqual([8, 10]);
    expect(indexes(await read(3, 13, 2, false))).toEqual([8, 10]);
    expect((await read(0, 3, 10, false))[0]!.disclosures).toBeNull();
    expect((await read(0, 3, 10, true))[0]!.disclosures).toContain('/action');
    const [one] = await read(0, 3, 10, { at: '/action' });
    expect(JSON.parse(one!.disclosures!)).toEqual([[expect.any(String), '/action', 'execute']]);
    expect((await read(0, 3, 10, { at: '/none' }))[0]!.disclosures).toBe('[]');
    expect(one!.hash).toEqual(leafHash(one!.record));
    expect(await store.runEventsBelow('prj_a', 'odd', 12)).toBe(5);
    expect(await store.runEventsBelow('prj_a', 'odd', 13)).toBe(6);
    expect(await store.runEventsBelow('prj_a', 'odd', 0)).toBe(0);
    expect(await store.runEventsBelow('prj_a', 'odd', 1000)).toBe(12);
    expect(await store.runEventsBelow('prj_a', 'none', 1000)).toBe(0);
    await drop();
  });
});

describe('leaves', () => {
  it('leaves are read by index, up to the head and never beyond', async () => {
    const { store, drop } = await open();
    await fill(store);
    expect(indexes(await store.leaves('prj_a', 'audit', { from: 20, to: 100 }))).toEqual([
      20, 21, 22, 23, 24,
    ]);
    expect(await store.leaves('prj_a', 'audit', { from: 25, to: 100 })).toEqual([]);
    expect((await store.leaf('prj_a', 24))?.index).toBe(24);
    expect(await store.leaf('prj_a', 25)).toBeNull();
    await drop();
  });
});

describe('the tail of a project', () => {
  it('a tail returns new events after an index, by run or type, and no other leaves', async () => {
    const { store, drop } = await open();
    await fill(store);
    const other = draftLeaf('gov.proof/1', { note: '"eventType":"tool.call"' }, { runId: 'even' });
    await appended(store, request([other, event({ runId: 'even' })], { meter: { op: 'none', units: 0 } }));
    const tail = async (filter: { runId?: string; eventType?: string }, after: number, limit = 100) =>
      indexes(await store.eventsAfter('prj_a', filter, { after, limit }));
    expect(await tail({}, 20)).toEqual([21, 22, 23, 24, 26]);
    expect(await tail({}, 20, 2)).toEqual([21, 22]);
    expect(await tail({}, 26)).toEqual([]);
    expect(await tail({ eventType: 'tool.call' }, 0)).toEqual([1, 7, 13, 19, 26]);
    expect(await tail({ runId: 'odd' }, 20)).toEqual([22, 24]);
    expect(await tail({ runId: 'even', eventType: 'tool.call' }, 7)).toEqual([13, 19, 26]);
    await drop();
  });
});

describe('runs', () => {
  it('the summary of a run matches the appended events', async () => {
    const { store, drop } = await open();
    await fill(store);
    expect(await store.run('prj_a', 'odd')).toEqual({
      no: 2,
      runId: 'odd',
      events: 12,
      firstIndex: 2,
      lastIndex: 24,
      firstTimestampMs: startMs + 89 * 60_000,
      lastTimestampMs: startMs + 100 * 60_000,
      lastServerMs: startMs,
      aiSystemId: 'sys',
      sealed: false,
      proofs: 0,
      lastDecision: null,
    });
    expect(await store.run('prj_a', 'none')).toBeNull();
    await drop();
  });

  it('each member of a run gets its value from the events that say one', async () => {
    const { store, drop } = await open();
    await fill(store);
    const run = await store.run('prj_a', 'odd');
    const unsaid = Object.entries(run!).filter(([, value]) => value === null || value === 0);
    // A new member gets a value from the events of `fill`. These two come from other tables.
    expect(unsaid.map(([member]) => member).toSorted()).toEqual(['lastDecision', 'proofs']);
    await drop();
  });

  it('runs come newest first by creation, in pages, also while older runs get events', async () => {
    const { store, clock, drop } = await open();
    for (const [position, runId] of ['c', 'a', 'b', 'e', 'd'].entries()) {
      clock.ms = startMs + Math.floor(position / 2);
      await appended(store, request([event({ runId })]));
    }
    const seen: string[] = [];
    for (let after: number | undefined; ;) {
      const page = await store.runs('prj_a', {}, { ...(after === undefined ? {} : { after }), limit: 2 });
      seen.push(...page.map(({ runId }) => runId));
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.no;
      clock.ms += 10;
      await appended(store, request(['c', 'e'].map((runId) => event({ runId }))));
      await appended(store, request([event({ runId: `new-${after}` })]));
    }
    expect(seen).toEqual(['d', 'e', 'b', 'a', 'c']);
    await drop();
  });

  it('runs are found by type, client time overlap, system and id', async () => {
    const { store, drop } = await open();
    await fill(store);
    const find = async (filter: Parameters<Store['runs']>[1]) =>
      (await store.runs('prj_a', filter, { limit: 10 })).map(({ runId }) => runId).toSorted();
    expect(await find({})).toEqual(['even', 'odd']);
    expect(await find({ eventType: 'tool.result' })).toEqual(['odd']);
    expect(await find({ eventType: 'never' })).toEqual([]);
    expect(await find({ aiSystemId: 'sys' })).toEqual(['odd']);
    expect(await find({ aiSystemId: 'other' })).toEqual([]);
    expect(await find({ runId: 'even' })).toEqual(['even']);
    expect(await find({ startMs: startMs + 11 * 60_000 })).toEqual(['even', 'odd']);
    expect(await find({ startMs: startMs + 11 * 60_000 + 1 })).toEqual(['odd']);
    expect(await find({ endMs: startMs + 88 * 60_000 })).toEqual(['even']);
    await drop();
  });
});

describe('counts', () => {
  it('event counts are exact by run, type and client time', async () => {
    const { store, drop } = await open();
    await fill(store);
    const count = (filter: Parameters<Store['countEvents']>[1]) => store.countEvents('prj_a', filter);
    const minute = (of: number): number => startMs + of * 60_000;
    expect(await count({})).toBe(24);
    expect(await count({ runId: 'even' })).toBe(12);
    expect(await count({ runId: 'none' })).toBe(0);
    expect(await count({ eventType: 'tool.call' })).toBe(4);
    expect(await count({ eventType: 'tool.call', runId: 'odd' })).toBe(0);
    expect(await count({ eventType: 'never' })).toBe(0);
    expect(await count({ startMs: minute(10), endMs: minute(90) })).toBe(2 + 2);
    expect(await count({ startMs: minute(89), endMs: minute(100) })).toBe(12);
    expect(await count({ startMs: minute(11), eventType: 'model.invoked' })).toBe(1);
    expect(await count({ runId: 'even', startMs: minute(3), endMs: minute(3) })).toBe(1);
    expect(await count({ startMs: minute(5), endMs: minute(4) })).toBe(0);
    await drop();
  });
});
