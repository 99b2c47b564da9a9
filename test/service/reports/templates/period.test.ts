/** The leaves of a period, found by bisection, are those that a reader of every leaf finds. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMapped } from '../../../../src/core/completeness/map-function.ts';
import {
  count,
  coverText,
  isIn,
  periodOf,
  type Period,
} from '../../../../src/service/reports/templates/period.ts';
import type { ReportSource } from '../../../../src/service/reports/templates/source.ts';
import type { Store } from '../../../../src/store/port/store.ts';
import { openStore } from '../../../../src/store/sqlite/store.ts';
import {
  appended,
  dropFolder,
  event,
  genesis,
  HandClock,
  newFolder,
  projectOf,
  request,
  seededBytes,
} from '../../../store/support/fixture.ts';
import { draftLeaf } from '../../../../src/core/events/record.ts';

const projectId = 'prj_a';
let store: Store;
let dataDir: string;
let treeSize = 0;
let times: number[] = [];
beforeAll(async () => {
  dataDir = newFolder();
  const clock = new HandClock();
  store = openStore({ dataDir, clock, randomBytes: seededBytes('period'), reserveBytes: 0 });
  await store.createProject(projectOf('a'), genesis('a'));
  // requests of events, and of leaves without a time, at growing distances
  for (let n = 0; n < 60; n++) {
    const policy = draftLeaf('gov.policy/1', { policyId: `p${n}` });
    const leaves = n % 3 === 1 ? [policy, policy] : [event({ runId: `r${n % 4}` })];
    await appended(store, request(leaves as never));
    clock.ms += n % 5 === 0 ? 0 : 1000 * n;
  }
  ({ size: treeSize } = await store.head(projectId, 'audit'));
  let newest = 0;
  times = (await store.leaves(projectId, 'audit', { from: 0, to: treeSize, bodies: false })).map(
    ({ record }) => {
      newest = Math.max(newest, readMapped(record).ms ?? 0);
      return newest;
    },
  );
});
afterAll(async () => {
  await store.close();
  dropFolder(dataDir);
});

const of = (startMs: number, endMs: number, size = treeSize): Promise<Period> =>
  periodOf({ reader: store, projectId, treeSize: size, startMs, endMs } as unknown as ReportSource);

describe('the period of a report', () => {
  it('has exactly the leaves whose time is within both ends', async () => {
    const ends = [...new Set(times)].flatMap((ms) => (ms > 0 ? [ms - 1, ms, ms + 1] : []));
    for (let at = 0; at < ends.length; at += 7) {
      for (let to = at; to < ends.length; to += 11) {
        const [startMs = 0, endMs = 0] = [ends[at], ends[to]];
        const period = await of(startMs, endMs);
        const within = times.flatMap((ms, index) => (ms >= startMs && ms <= endMs ? [index] : []));
        const found = times.flatMap((_, index) => (isIn(period, index, 0) ? [index] : []));
        expect([startMs, endMs, found]).toEqual([startMs, endMs, within]);
      }
    }
  });

  it('reads no leaf above the tree size', async () => {
    const period = await of(0, 8e12, 20);
    expect(period).toMatchObject({ from: 0, to: 20, asOfMs: times[19] });
  });

  it('of an empty tree has no leaf', async () => {
    expect(await of(0, 8e12, 0)).toMatchObject({ from: 0, to: 0, asOfMs: 0 });
    expect(coverText(await of(0, 8e12, 0))).toBe('The log recorded nothing in the period.');
  });

  it('periods that follow each other share no leaf and leave none out', async () => {
    const middle = times[40] ?? 0;
    const [first, second] = [await of(0, middle), await of(middle + 1, 8e12)];
    expect(first.to).toBe(second.from);
    expect(second.to).toBe(treeSize);
  });

  it('among pruned leaves the time that a leaf states itself decides', () => {
    const period: Period = {
      startMs: 100,
      endMs: 200,
      from: 0,
      to: 50,
      prunedBelow: 20,
      firstMs: 1,
      asOfMs: 500,
    };
    expect([isIn(period, 5, 150), isIn(period, 5, 99), isIn(period, 20, 0), isIn(period, 50, 150)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(coverText(period)).toContain('Events below leaf 20 were pruned');
  });

  it('a number comes with the singular of its noun for one alone', () => {
    expect([count(1, 'leaf', 'leaves'), count(2, 'leaf', 'leaves'), count(0, 'row')]).toEqual([
      '1 leaf',
      '2 leaves',
      '0 rows',
    ]);
  });
});
