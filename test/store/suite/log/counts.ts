/** Counts by time and lists of runs by every filter, against a walk over all events that were ever recorded. */
import { describe, expect, it } from 'vitest';
import { coarseWidth, fineWidth, spanRuns } from '../../../../src/store/append/buckets.ts';
import type { EventFilter, Store } from '../../../../src/store/port/store.ts';
import { event, request, seededBytes, startMs, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';

interface Made {
  readonly runId: string;
  readonly type: string;
  readonly ms: number;
  readonly system: string | null;
}

const types = ['tool.call', 'model.invoked', 'rare.kind'] as const;
const fine = 2 ** fineWidth;
const coarse = 2 ** coarseWidth;
/** The edge of a coarse bucket, and of a fine one. */
const edge = Math.ceil(startMs / coarse) * coarse;

const bytes = seededBytes('counts');
const below = (bound: number): number => bytes(4).readUInt32BE() % bound;

/** Times of all distances: the same millisecond, edges of buckets and one beside them, hours and months apart. */
function someMs(): number {
  const edges = [edge, edge - 1, edge + fine, edge + fine - 1, edge + coarse, edge + 2 * coarse - 1];
  const at = below(10);
  if (at < edges.length) return edges[at]!;
  return at === 6 ? edge + below(fine) : at === 7 ? edge + below(coarse) : edge + below(90 * 86_400_000);
}

/** More than two blocks of runs, most of one event; some runs get more events later. */
async function fill(store: Store): Promise<Made[]> {
  const made: Made[] = [];
  const add = async (events: readonly Made[]): Promise<void> => {
    const leaves = events.map(({ runId, type, ms, system }) =>
      event({
        runId,
        eventType: type,
        timestamp: new Date(ms).toISOString(),
        metadata: {},
        ...(system === null ? {} : { aiSystemId: system }),
      }),
    );
    await stored(store, request(leaves));
    made.push(...events);
  };
  const runs = 2 * spanRuns + 300;
  const one = (no: number): Made => ({
    runId: `run-${String(no)}`,
    type: no % 701 === 5 ? types[2] : types[no % 2]!,
    // runs of later numbers are later, so that whole blocks lie outside of a window
    ms: no % 997 === 3 ? someMs() : edge + no * 3_600_000,
    system: no % 503 === 7 ? 'rare' : no % 3 === 0 ? null : `system-${no % 2}`,
  });
  for (let from = 0; from < runs; from += 500) {
    await add(Array.from({ length: Math.min(500, runs - from) }, (_, at) => one(from + at)));
  }
  for (let commit = 0; commit < 6; commit += 1) {
    await add(
      Array.from({ length: 40 }, () => ({ ...one(below(runs)), ms: someMs(), type: types[below(3)]! })),
    );
  }
  return made;
}

const isWithin = (ms: number, { startMs: from = 0, endMs: to = Infinity }: EventFilter): boolean =>
  ms >= from && ms <= to;

const counted = (made: readonly Made[], filter: EventFilter): number =>
  made.filter(
    ({ runId, type, ms }) =>
      (filter.runId ?? runId) === runId && (filter.eventType ?? type) === type && isWithin(ms, filter),
  ).length;

type RunFilter = Parameters<Store['runs']>[1];

/** Newest first; the system of a run is the first that one of its events has. */
function listed(made: readonly Made[], filter: RunFilter): string[] {
  const runs = new Map<string, Made[]>();
  for (const each of made) runs.set(each.runId, [...(runs.get(each.runId) ?? []), each]);
  return [...runs]
    .filter(([runId, events]) => {
      const times = events.map(({ ms }) => ms);
      const overlaps =
        Math.min(...times) <= (filter.endMs ?? Infinity) && Math.max(...times) >= (filter.startMs ?? 0);
      const { system = null } = events.find((each) => each.system !== null) ?? {};
      return (
        overlaps &&
        (filter.runId ?? runId) === runId &&
        (filter.aiSystemId ?? system) === system &&
        (filter.eventType === undefined || events.some(({ type }) => type === filter.eventType))
      );
    })
    .map(([runId]) => runId)
    .toReversed();
}

async function pages(store: Store, filter: RunFilter, limit: number): Promise<string[]> {
  const seen: string[] = [];
  for (let after: number | undefined; ;) {
    const page = await store.runs('prj_a', filter, { limit, ...(after === undefined ? {} : { after }) });
    seen.push(...page.map(({ runId }) => runId));
    after = page.at(-1)?.no;
    if (page.length < limit) return seen;
  }
}

const windows: readonly EventFilter[] = [
  {},
  { startMs: edge },
  { startMs: edge + 1 },
  { endMs: edge },
  { endMs: edge - 1 },
  { startMs: edge, endMs: edge },
  { startMs: edge + fine, endMs: edge + 2 * fine - 1 },
  { startMs: edge + fine - 1, endMs: edge + coarse },
  { startMs: edge - 1, endMs: edge + 2 * coarse },
  { startMs: edge + 3, endMs: edge + fine + 5 },
  { startMs: edge + 40 * 86_400_000, endMs: edge + 60 * 86_400_000 + 12_345 },
  { startMs: edge + 500 * 86_400_000 },
  { startMs: 5, endMs: 4 },
  { startMs: 0, endMs: Number.MAX_SAFE_INTEGER },
];

describe('a project with many runs', () => {
  it('counts events by time, type and run, and lists runs by every filter, as a walk over all would', async () => {
    const { store, reopen, drop } = await open();
    const made = await fill(store);
    const opened = await reopen();
    for (const window of windows) {
      for (const eventType of [undefined, ...types, 'never.seen']) {
        const filter = { ...window, ...(eventType === undefined ? {} : { eventType }) };
        for (const runId of [undefined, 'run-3', 'run-2000', 'none']) {
          const wanted = { ...filter, ...(runId === undefined ? {} : { runId }) };
          const found = await opened.countEvents('prj_a', wanted);
          expect([wanted, found]).toEqual([wanted, counted(made, wanted)]);
          if (runId !== undefined) {
            const few = (await opened.runs('prj_a', wanted, { limit: 5 })).map((run) => run.runId);
            expect([wanted, few]).toEqual([wanted, listed(made, wanted)]);
          }
        }
        for (const aiSystemId of [undefined, 'rare', 'system-1', 'none']) {
          const wanted = { ...filter, ...(aiSystemId === undefined ? {} : { aiSystemId }) };
          const found = await pages(opened, wanted, 400);
          expect([wanted, found]).toEqual([wanted, listed(made, wanted)]);
        }
      }
    }
    for (let round = 0; round < 60; round += 1) {
      const [one, other] = [someMs(), someMs()];
      const wanted = { startMs: Math.min(one, other), endMs: Math.max(one, other) };
      expect([wanted, await opened.countEvents('prj_a', wanted)]).toEqual([wanted, counted(made, wanted)]);
      const found = await pages(opened, { ...wanted, eventType: types[round % 3]! }, 1000);
      expect(found).toEqual(listed(made, { ...wanted, eventType: types[round % 3]! }));
    }
    await drop();
  });

  it('counts nothing of a refused request, and the rest of its commit', async () => {
    const { store, drop } = await open();
    await stored(store, request([event({ clientEventId: 'c' })]));
    const refused = store.append({
      ...request([event({}), event({ clientEventId: 'c' })], { whole: true }),
      fingerprints: new Map([[1, 'other content']]),
    });
    const others = [
      stored(store, request([event({})])),
      stored(store, request([event({ clientEventId: 'c' })])),
    ];
    await expect(refused).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    await Promise.all(others);
    const at = { startMs, endMs: startMs };
    expect(await store.countEvents('prj_a', at)).toBe(2);
    await drop();
  });
});
