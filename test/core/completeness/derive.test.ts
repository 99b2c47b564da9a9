/** Derives the index of honest logs, at any place of restarts and sizes, and finds each way of hiding an event. */
import { describe, expect, it } from 'vitest';
import { IndexDeriver, type DerivedState, type MapStore } from '../../../src/core/completeness/derive.ts';
import { draftIndex } from '../../../src/core/completeness/index-leaf.ts';
import type { StoredList } from '../../../src/core/completeness/key-list.ts';
import type { PathEnd } from '../../../src/core/completeness/map.ts';
import type { MapFunction } from '../../../src/core/completeness/map-function.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import { ProofLog } from '../proofs/log.ts';
import { hiddenLog, ways } from './hidden.ts';
import { mapOf, sealed } from './indexed.ts';

const texts = ({ leaves }: ProofLog): string[] => leaves.map(({ record }) => record);

function derived(records: readonly string[], from = new IndexDeriver()): IndexDeriver {
  for (const record of records) from.add(record);
  from.settle();
  return from;
}

/** Index leaves, each of the size `lag` leaves before it. */
function honest({ lags, fn }: { lags: readonly number[]; fn?: MapFunction }): ProofLog {
  const log = new ProofLog();
  for (const [at, lag] of lags.entries()) {
    for (let each = 0; each < 9; each++)
      log.record({ runId: `run-${(at + each) % 4}`, eventType: each % 2 === 0 ? 'tool.call' : 'note' });
    const size = log.leaves.length - lag;
    const map = mapOf(log.leaves.slice(0, size), log.hashes.slice(0, size), fn);
    const draft = draftIndex({ size, root: map.root(), keys: map.keys, ms: map.ms, fn: map.fn });
    log.append({ ...draft, record: sealed(draft, map.ms) });
  }
  return log;
}

/** Keeps what a deriver saves, as a store does. */
class Kept implements MapStore {
  readonly lists = new Map<string, StoredList>();
  readonly values = new Map<string, PathEnd>();
  state: DerivedState | undefined;

  save(deriver: IndexDeriver, most: number): void {
    const { state, lists } = deriver.unsaved();
    this.state = state;
    for (const { list, ...end } of lists) {
      const key = Buffer.from(end.keyHash).toString('hex');
      this.lists.set(key, list);
      this.values.set(key, end);
    }
    deriver.saved(most);
  }

  part({ from, to }: { from: Buffer; to: Buffer }): PathEnd[] {
    const [low, high] = [from.toString('hex'), to.toString('hex')];
    return [...this.values].filter(([key]) => key >= low && key <= high).map(([, end]) => end);
  }

  list(keyHash: Buffer): StoredList | null {
    return this.lists.get(keyHash.toString('hex')) ?? null;
  }
}

describe('the derivation of an index', () => {
  it('finds nothing in an honest log, whatever the sizes of its index leaves, and computes its root', () => {
    for (const lags of [[0], [0, 0, 0], [3, 0, 5, 1], [7, 9, 11]]) {
      const log = honest({ lags });
      const deriver = derived(texts(log));
      expect([deriver.fault, deriver.restart, deriver.unknown]).toEqual([null, null, null]);
      expect(deriver.size).toBe(log.leaves.length);
      expect(deriver.root()).toEqual(log.root());
    }
  });

  it('finds nothing in an honest log when it settles, saves, drops all lists and starts again at each leaf', () => {
    const records = texts(honest({ lags: [3, 0, 5, 1] }));
    for (let every = 1; every < 12; every++) {
      const kept = new Kept();
      let deriver = new IndexDeriver({ store: kept });
      for (const [at, record] of records.entries()) {
        deriver.add(record);
        if (at % every !== 0) continue;
        deriver.settle();
        expect([deriver.fault, deriver.restart], `every ${every}, leaf ${at}`).toEqual([null, null]);
        kept.save(deriver, 0);
        if (at % (2 * every) !== 0 || kept.state === undefined) continue;
        deriver = new IndexDeriver({ from: kept.state, store: kept });
        for (const again of records.slice(kept.state.size, at + 1)) deriver.add(again);
      }
      deriver.settle();
      expect(deriver.fault).toBeNull();
    }
  });

  it('begins again for an index leaf of an older size, or of another map function, and then finds nothing', () => {
    const older = honest({ lags: [0, 0] });
    const size = 5;
    const map = mapOf(older.leaves.slice(0, size), older.hashes.slice(0, size));
    const draft = draftIndex({ size, root: map.root(), keys: map.keys, ms: map.ms, fn: map.fn });
    const first = derived(texts(older));
    older.append({ ...draft, record: sealed(draft, map.ms) });
    derived(texts(older).slice(first.size), first);
    expect([first.fault, first.restart]).toEqual([null, { fn: 'gov.mapfn/2', stops: [size] }]);
    const second = derived(texts(older), new IndexDeriver({ restart: first.restart! }));
    expect([second.fault, second.restart]).toEqual([null, null]);

    const other = texts(honest({ lags: [0, 2], fn: 'gov.mapfn/1' }));
    const { restart, fault } = derived(other);
    expect([fault, restart?.fn]).toEqual([null, 'gov.mapfn/1']);
    expect(derived(other, new IndexDeriver({ restart: restart! })).fault).toBeNull();
  });

  it('says nothing of an index by a map function of later programs', () => {
    const records = texts(honest({ lags: [0] })).map((each) => each.replace('gov.mapfn/2', 'gov.mapfn/9'));
    const deriver = derived(records);
    expect([deriver.fault, deriver.unknown]).toEqual([null, expect.stringContaining('map function')]);
  });

  it.each(ways.map((way) => [way]))('finds the index leaf that hides the events %j of a run', (way) => {
    const { log, index } = hiddenLog(way);
    expect(derived(texts(log)).fault).toMatchObject({
      index,
      detail: expect.stringContaining(`index leaf ${index}: root`),
    });
    expect(derived(texts(hiddenLog([]).log)).fault).toBeNull();
  });

  it('finds each changed member of an index leaf, and an event whose number is not its place', () => {
    const log = honest({ lags: [0] });
    const records = texts(log);
    const at = records.length - 1;
    const change = (from: RegExp, to: string) =>
      derived(records.map((each, place) => (place === at ? each.replace(from, to) : each))).fault?.index;
    expect(change(/"keys":\d+/, '"keys":99')).toBe(at);
    expect(change(/"root":"sha256:../, '"root":"sha256:00')).toBe(at);
    expect(change(/"size":\d+/, '"size":999')).toBe(at);
    expect(change(/"through":"2026/, '"through":"2027')).toBe(at);
    expect(change(/"at":"2026/, '"at":"2026')).toBeUndefined();
    const moved = records.map((each, place) =>
      place === 5 ? each.replace(/"runSeq":\d+/, '"runSeq":7') : each,
    );
    expect(derived(moved).fault?.index).toBe(5);
  });

  it('does not use a store that was altered: it begins again', () => {
    const records = texts(honest({ lags: [0, 0, 0, 0] }));
    const kept = new Kept();
    const deriver = derived(records.slice(0, 20), new IndexDeriver({ store: kept }));
    kept.save(deriver, 0);
    for (const [key, list] of kept.lists) kept.lists.set(key, { ...list, n: list.n + 1 });
    derived(records.slice(deriver.size), deriver);
    expect([deriver.fault, deriver.restart]).toEqual([null, { fn: 'gov.mapfn/2', stops: [] }]);
  });

  it('a record that no list has is false, and an event of another version is unknown', () => {
    const log = honest({ lags: [0, 0] });
    const { record } = log.record({ runId: 'run-1' });
    const at = log.leaves.length;
    const changes: [record: string, fault: string | null, unknown: string | null][] = [
      // changed software could show these as events, with receipts, and no list has them
      [record.replace('{', '{"a":1,'), 'its record is not one of a log', null],
      [record.replace('{', '{ '), 'its record is not one of a log', null],
      ['an event', 'its record is not one of a log', null],
      ['{"at":1}', 'its record is not one of a log', null],
      [record.replace('gov.event/1', 'gov.event/2'), null, 'does not know its type of event'],
    ];
    for (const [changed, fault, unknown] of changes) {
      const map = mapOf([...log.leaves, { record: changed }], [...log.hashes, leafHash(changed)]);
      const draft = draftIndex({ size: at + 1, root: map.root(), keys: map.keys, ms: map.ms, fn: map.fn });
      const found = derived([...texts(log), changed, sealed(draft, map.ms)]);
      expect([changed, found.fault?.detail ?? null, found.unknown]).toEqual([
        changed,
        fault === null ? null : `leaf ${at}: ${fault}`,
        unknown === null ? null : expect.stringContaining(unknown),
      ]);
    }
  });

  it('a server time that goes back is false: it could leave events out of the answers about a period', () => {
    const log = honest({ lags: [0, 0] });
    // the third event is of a year later, and the fourth comes back
    for (const seconds of [365 * 86_400, 3_600]) log.record({ runId: 'run-1' }, seconds);
    const map = mapOf(log.leaves, log.hashes);
    const draft = draftIndex({ size: map.size, root: map.root(), keys: map.keys, ms: map.ms, fn: map.fn });
    log.append({ ...draft, record: sealed(draft, map.ms) });
    const index = map.size - 1;
    expect(derived(texts(log)).fault).toMatchObject({
      index,
      detail: `leaf ${index}: its server time goes back`,
    });
    expect(derived(texts(log).slice(0, index)).fault).toBeNull();
  });
});
