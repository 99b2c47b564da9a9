import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Journal, readEntry, readJournal } from '../../../src/client/sending/journal.ts';
import { Folder } from '../../cli/push/harness.ts';

const folder = new Folder();
afterAll(() => folder.remove());
const records = [{ a: 1 }, { text: 'line\nbreak é😀' }, { list: [1, 2, 3] }];
const at = (name: string): string => join(folder.path, name);

function written(name: string): string {
  const journal = Journal.create(at(name));
  for (const record of records) journal.append(record);
  journal.close();
  return at(name);
}
const valuesOf = (path: string): unknown[] => readJournal(path).entries.map(({ value }) => value);

describe('a journal', () => {
  it('a journal returns its records, as a whole and one by one', () => {
    const path = written('whole');
    const { entries, end } = readJournal(path);
    expect(entries.map(({ value }) => value)).toEqual(records);
    expect(end).toBe(readFileSync(path).length);
    expect(entries.map((entry) => readEntry(path, entry))).toEqual(records);
  });

  it('a journal cut at any byte returns the records before the cut, and takes new ones', () => {
    const path = written('cut');
    const bytes = readFileSync(path);
    const { entries } = readJournal(path);
    for (let size = 0; size <= bytes.length; size++) {
      const part = at('part');
      writeFileSync(part, bytes.subarray(0, size));
      const whole = entries.filter(({ offset, length }) => offset + length <= size).length;
      expect(valuesOf(part)).toEqual(records.slice(0, whole));
      const journal = Journal.open(part);
      journal.append({ after: size });
      journal.close();
      expect(valuesOf(part)).toEqual([...records.slice(0, whole), { after: size }]);
    }
  });

  it('a journal whose last record was damaged by zeros or garbage loses only that record', () => {
    const path = written('torn');
    const { entries } = readJournal(path);
    const last = entries[2]!;
    for (const fill of ['\0', 'x', '\n']) {
      const torn = at('torn-copy');
      copyFileSync(path, torn);
      truncateSync(torn, last.offset + 10);
      const zeros = Buffer.alloc(last.length - 10, fill);
      writeFileSync(torn, Buffer.concat([readFileSync(torn), fill === '\n' ? zeros.subarray(0, 1) : zeros]));
      expect(valuesOf(torn)).toEqual(records.slice(0, 2));
    }
  });

  it('a journal with a changed byte before its end is refused by name and place', () => {
    const path = written('damaged');
    const bytes = readFileSync(path);
    const { entries } = readJournal(path);
    for (let place = 0; place < entries[2]!.offset; place++) {
      const copy = Buffer.from(bytes);
      copy[place]! ^= 1 << (place % 8);
      writeFileSync(at('changed'), copy);
      expect(() => readJournal(at('changed'))).toThrow(
        /changed: expected the record that gov wrote at byte \d+/,
      );
    }
    writeFileSync(path, Buffer.concat([bytes.subarray(0, -3), Buffer.from('xxx')]));
    expect(() => readEntry(path, entries[2]!)).toThrow(/expected the record/);
  });

  it('a journal is created only once', () => {
    written('once');
    expect(() => Journal.create(at('once'))).toThrow(/EEXIST/);
  });
});
