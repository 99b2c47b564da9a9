/** Lists of long runs: pages by type and time go by the summaries of blocks, and are what a walk over all would be. */
import { describe, expect, it } from 'vitest';
import { blockEvents } from '../../../../src/store/append/blocks.ts';
import type { EventFilter, Store } from '../../../../src/store/port/store.ts';
import { appended, event, request, startMs } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';

interface Made {
  readonly index: number;
  readonly type: string;
  readonly ms: number;
}

const types = ['model.invoked', 'tool.call', 'rare.kind'] as const;

/** Four blocks and an open one, beside another run; times go forward, with late ones among them. */
async function fill(store: Store, sizes: readonly number[]): Promise<Made[]> {
  const made: Made[] = [];
  for (const size of sizes) {
    const wanted = Array.from({ length: size }, (_, at) => {
      const no = made.length + at;
      const type = no % 1500 === 700 ? types[2] : types[no % 2]!;
      const ms = startMs + (no % 997 === 5 ? 0 : no * 1000);
      return { type, ms };
    });
    const events = wanted.map(({ type, ms }) =>
      event({ runId: 'long', eventType: type, timestamp: new Date(ms).toISOString(), metadata: {} }),
    );
    const stored = await appended(store, request([...events, event({ runId: 'other' })]));
    wanted.forEach((each, at) => made.push({ ...each, index: stored[at]!.index }));
  }
  return made;
}

const total = 4 * blockEvents + 100;

async function pages(
  store: Store,
  filter: Omit<EventFilter, 'runId'>,
  { order, limit, most = Infinity }: { order: 'asc' | 'desc'; limit: number; most?: number },
): Promise<number[]> {
  const seen: number[] = [];
  for (let after: number | undefined; seen.length < most;) {
    const position = after === undefined ? {} : { after };
    const page = await store.events('prj_a', { runId: 'long', ...filter }, { ...position, limit, order });
    seen.push(...page.map(({ index }) => index));
    after = page.at(-1)?.index;
    if (page.length < limit) break;
  }
  return seen;
}

const expected = (
  made: readonly Made[],
  { eventType, startMs: from = 0, endMs: to = Infinity }: EventFilter,
) =>
  made
    .filter(({ type, ms }) => (eventType === undefined || type === eventType) && ms >= from && ms <= to)
    .map(({ index }) => index);

describe('a list of a long run', () => {
  it('a list of a long run by type and time equals the result of a walk over all events', async () => {
    const { store, drop } = await open();
    // blocks that are filled by one commit, by several, two by one, and exactly
    const made = await fill(store, [1000, 24, blockEvents - 1, 2, 2 * blockEvents - 1, 100]);
    expect(made).toHaveLength(total);
    const at = (no: number) => startMs + no * 1000;
    const filters: Omit<EventFilter, 'runId'>[] = [
      { eventType: 'rare.kind' },
      { eventType: 'tool.call', startMs: at(4000) },
      { startMs: at(4150) },
      { startMs: at(4090), endMs: at(4110) },
      { startMs: at(2 * blockEvents), endMs: at(2 * blockEvents) },
      { startMs: at(2 * blockEvents - 1), endMs: at(2 * blockEvents + 1) },
      { endMs: startMs },
      { startMs: at(total - 1) },
      { startMs: at(total) },
      { eventType: 'rare.kind', startMs: at(100), endMs: at(3000) },
      { eventType: 'never.seen' },
    ];
    for (const filter of filters) {
      const wanted = expected(made, filter);
      for (const limit of [1000, 7]) {
        const most = limit === 7 ? 40 : Infinity;
        const forwards = await pages(store, filter, { order: 'asc', limit, most });
        expect([filter, forwards]).toEqual([filter, wanted.slice(0, forwards.length)]);
        const backwards = await pages(store, filter, { order: 'desc', limit, most });
        expect([filter, backwards]).toEqual([filter, wanted.toReversed().slice(0, backwards.length)]);
        const enough = Math.min(wanted.length, most);
        expect([forwards.length >= enough, backwards.length >= enough]).toEqual([true, true]);
      }
    }
    await drop();
  });

  it('a list of a long run continues from any place, also after new events', async () => {
    const { store, reopen, drop } = await open();
    const before = await fill(store, [blockEvents - 1]);
    const filter = { runId: 'long', eventType: 'tool.call' };
    const first = await store.events('prj_a', filter, { limit: 300, order: 'asc' });
    const again = await reopen();
    const more = await appended(
      again,
      request(Array.from({ length: 10 }, () => event({ runId: 'long', eventType: 'tool.call' }))),
    );
    const after = first.at(-1)!.index;
    const rest = await again.events('prj_a', filter, { after, limit: 1000, order: 'asc' });
    expect([...first, ...rest].map(({ index }) => index)).toEqual([
      ...expected(before, filter),
      ...more.map(({ index }) => index),
    ]);
    await drop();
  });
});
