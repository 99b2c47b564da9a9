import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Places, type Place } from '../../../src/cli/watch/places.ts';
import { emptyDirectory } from '../support/tool.ts';

let path: string;
beforeEach(() => {
  path = join(emptyDirectory(), 'state/watched/a.ndjson');
});
afterEach(() => rmSync(path, { force: true }));

const place = (name: string, taken = 1): Place => ({
  name,
  knownAs: name,
  device: 1,
  inode: 2,
  size: taken,
  modifiedMs: 3.5,
  taken,
  headHash: 'aa',
  headBytes: 1,
});

describe('the places of a watch', () => {
  it('are the same for the next process, the newest of a name', () => {
    const first = new Places(path);
    first.keep([place('a'), place('b')], 'evt_1');
    first.keep([place('a', 7)]);
    first.drop('b');
    const next = new Places(path);
    expect(next.all()).toEqual([place('a', 7)]);
    expect(next.eventId).toBe('evt_1');
    next.clear();
    expect(new Places(path).all()).toEqual([]);
    expect(new Places(path).eventId).toBeNull();
  });

  it('a last line that a crash cut, or another text, is ignored', () => {
    new Places(path).keep([place('a')]);
    appendFileSync(path, '[]\n{"name": 1}\n{"name":"b","taken"');
    expect(new Places(path).all()).toEqual([place('a')]);
    writeFileSync(path, '\0\0\0');
    expect(new Places(path).all()).toEqual([]);
  });

  it('the journal stays small however often a file grows', () => {
    const places = new Places(path);
    for (let taken = 1; taken <= 2500; taken++) places.keep([place('a', taken)]);
    expect(readFileSync(path, 'utf8').split('\n').length).toBeLessThan(1003);
    expect(new Places(path).all()).toEqual([place('a', 2500)]);
  });
});
