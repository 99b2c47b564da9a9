import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LogMap } from '../../../src/core/completeness/log-map.ts';
import { keyHash, rootOfPath } from '../../../src/core/completeness/map.ts';
import { readMapped, type MapFunction } from '../../../src/core/completeness/map-function.ts';
import { PrefixTree } from '../../../src/core/completeness/prefix-tree.ts';
import { KeyList, type StoredList } from '../../../src/core/completeness/key-list.ts';
import { draftLeaf } from '../../../src/core/events/record.ts';
import { ProofLog } from '../proofs/log.ts';
import { appendIndex, mapOf } from './indexed.ts';
import { naiveIndexRoot, naiveLists } from './naive.ts';

const texts = (log: ProofLog): string[] => log.leaves.map(({ record }) => record);
const naiveRootOf = (log: ProofLog, fn?: MapFunction): Buffer =>
  naiveIndexRoot([...naiveLists(texts(log), fn).values()]);

/** A step of a log: an event of one of a few runs and types, another record, or an index leaf. */
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.tuple(fc.constant('event' as const), fc.nat(5), fc.nat(4)) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('other' as const), fc.nat(5), fc.nat(2)) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('index' as const), fc.nat(0), fc.nat(0)) },
  ),
  { minLength: 1, maxLength: 60 },
);

function record(
  log: ProofLog,
  [kind, run, type]: readonly ['event' | 'other' | 'index', number, number],
): void {
  const timestamp = `2026-01-0${1 + ((run + type) % 4)}T09:00:00Z`;
  if (kind === 'event') log.record({ runId: `run-${run}`, eventType: `type.${type}`, timestamp });
  else if (kind === 'index') appendIndex(log, mapOf(log.leaves, log.hashes));
  else if (type === 0) log.append(draftLeaf('gov.policy/1', { policyId: `p${run}` }));
  else log.append(draftLeaf('gov.evaluation/1', { id: `e${run}` }, { runId: `run-${run}` }));
}

/** Tables in memory. */
class Tables {
  readonly lists = new Map<string, { keyHash: Buffer; valueHash: Buffer; list: StoredList }>();
  parts: Buffer = new PrefixTree().parts();

  save(map: LogMap): void {
    const { parts, lists } = map.unsaved();
    this.parts = parts;
    for (const { keyHash: key, valueHash: value, list } of lists) {
      const row = { keyHash: Buffer.from(key), valueHash: Buffer.from(value), list };
      this.lists.set(row.keyHash.toString('hex'), row);
    }
  }

  /** Loads everything that a record needs, as the keeper of an index does. */
  load(map: LogMap, needed: ReadonlyMap<string, Buffer>): boolean {
    for (const [text, hash] of needed) {
      const part = map.closedAt(hash);
      const rows = [...this.lists.values()];
      const isIn = ({ keyHash: key }: { keyHash: Buffer }) =>
        part !== null && part.from.compare(key) <= 0 && key.compare(part.to) <= 0;
      if (part !== null && !map.open(part, rows.filter(isIn))) return false;
      if (!map.has(hash)) continue;
      const row = this.lists.get(hash.toString('hex'));
      if (row === undefined || !map.restore(text, hash, row.list)) return false;
    }
    return true;
  }
}

describe('the map of a log', () => {
  it(
    'the map of a log has the root of all its lists, also after it was stored and continued',
    { timeout: 60_000 },
    () => {
      fc.assert(
        fc.property(steps, fc.array(fc.nat(60), { maxLength: 4 }), (made, restarts) => {
          const log = new ProofLog();
          const tables = new Tables();
          for (const step of made) record(log, step);
          let map = new LogMap();
          for (const [at, { record: text }] of log.leaves.entries()) {
            const mapped = readMapped(text);
            const needed = new Map<string, Buffer>();
            map.missing(mapped, needed);
            expect(tables.load(map, needed)).toBe(true);
            expect(map.add(log.hashes[at]!.toString('latin1'), mapped)).toBe(true);
            if (!restarts.includes(at)) continue;
            tables.save(map);
            if (at % 2 === 0) map.saved(0);
            else map = new LogMap({ size: map.size, ms: map.ms, tree: PrefixTree.closed(tables.parts)! });
          }
          expect(map.root()).toEqual(naiveRootOf(log));
          expect(map.size).toBe(log.leaves.length);
          expect(map.root()).toEqual(mapOf(log.leaves, log.hashes).root());
        }),
        { seed: 2, numRuns: 60 },
      );
    },
  );

  it('the map of a log by the older function has the root of that function', () => {
    const log = new ProofLog();
    for (let at = 0; at < 40; at++) record(log, ['event', at % 7, at % 3]);
    const map = mapOf(log.leaves, log.hashes, 'gov.mapfn/1');
    expect(map.root()).toEqual(naiveRootOf(log, 'gov.mapfn/1'));
    expect(map.root()).not.toEqual(naiveRootOf(log));
  });

  it('the map of a log proves each list with its value, and every other key as absent', () => {
    const log = new ProofLog();
    for (let at = 0; at < 40; at++) record(log, ['event', at % 7, at % 3]);
    record(log, ['other', 1, 1]);
    const map = mapOf(log.leaves, log.hashes);
    for (const { key, items } of naiveLists(texts(log)).values()) {
      const { path, value } = map.path(key);
      expect(rootOfPath(keyHash(key), path)).toEqual(map.root());
      expect(value).toMatchObject({ n: items.length, first: items[0]!.index, last: items.at(-1)!.index });
    }
    const { path, value } = map.path(['run', 'never']);
    expect(value).toBeNull();
    expect(rootOfPath(keyHash(['run', 'never']), path)).toEqual(map.root());
  });

  it('the list of a run in the map has the root that proofs call runRoot', () => {
    const log = new ProofLog();
    for (let at = 0; at < 9; at++) record(log, ['event', at % 2, 0]);
    const { evidence } = log.evidence('run-1', log.leaves.length);
    const { value } = mapOf(log.leaves, log.hashes).path(['run', 'run-1']);
    expect(value).toMatchObject({
      n: evidence.runEvents,
      root: evidence.runRoot,
      first: evidence.firstIndex,
    });
  });

  it('the map of a log refuses an event whose run sequence is wrong', () => {
    const log = new ProofLog();
    for (let at = 0; at < 3; at++) record(log, ['event', 0, 0]);
    const map = new LogMap();
    const add = (at: number) =>
      map.add(log.hashes[at]!.toString('latin1'), readMapped(log.leaves[at]!.record));
    expect([add(0), add(1), add(3)]).toEqual([true, true, false]);
  });

  it('the map of a log refuses a list that was altered in the table', () => {
    const log = new ProofLog();
    for (let at = 0; at < 6; at++) record(log, ['event', at % 2, 0]);
    const map = mapOf(log.leaves, log.hashes);
    const { lists } = map.unsaved();
    map.saved(0);
    const key = ['run', 'run-0'];
    const hash = keyHash(key);
    const part = map.closedAt(hash)!;
    expect(map.open(part, lists)).toBe(true);
    const { list } = lists.find((each) => hash.equals(each.keyHash))!;
    const shorter = new KeyList();
    shorter.add('x'.repeat(32), 1, 1);
    for (const altered of [
      { ...list, last: 1 },
      { ...list, n: 1 },
      { ...list, peaks: Buffer.alloc(64) },
      shorter.stored(),
    ]) {
      expect(map.restore(key.join('\u0000'), hash, altered)).toBe(false);
    }
    expect(map.restore(key.join('\u0000'), hash, list)).toBe(true);
  });
});
