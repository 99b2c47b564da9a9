import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { fileAt } from '../../../src/cli/push/folder.ts';
import { headOf, look, type FolderScan } from '../../../src/cli/watch/look.ts';
import type { Place } from '../../../src/cli/watch/places.ts';
import { emptyDirectory } from '../support/tool.ts';

let folder: string;
let places: Map<string, Place>;
let unripe: Map<string, string>;
let notBefore: Map<string, number>;
let nowMs: number;
beforeEach(() => {
  folder = emptyDirectory();
  places = new Map();
  unripe = new Map();
  notBefore = new Map();
  nowMs = Date.now() + 60_000;
});

const pathOf = (name: string) => join(folder, name);
const write = (name: string, text: string) => {
  mkdirSync(dirname(pathOf(name)), { recursive: true });
  writeFileSync(pathOf(name), text);
};
const looking = (isOnce = false): FolderScan => look(folder, { places, unripe, notBefore, nowMs, isOnce });
/** Looks, and records what is there. */
const taking = () => {
  const { takes, changes, moved } = looking();
  for (const change of changes) {
    if (change.kind === 'renamed') places.delete(change.from);
    if (change.kind === 'vanished') places.delete(change.file);
  }
  for (const place of moved) places.set(place.name, place);
  for (const { file, knownAs, until } of takes)
    places.set(file.name, {
      ...file,
      knownAs,
      taken: until,
      ...headOf(file.path, until),
    });
  return {
    takes: takes.map(({ file, until }) => [file.name, until]),
    changes: changes.map(({ kind, file }) => [kind, file]),
  };
};
const nothing = { takes: [], changes: [] };

/** Root may read everything. */
function asNobody<Result>(act: () => Result): Result {
  if (process.getuid?.() !== 0 || process.seteuid === undefined) return act();
  process.seteuid(65_534);
  try {
    return act();
  } finally {
    process.seteuid(0);
  }
}

describe('looking at a folder', () => {
  it('a file is taken once, and again when it has grown by a whole line', () => {
    write('a.jsonl', '{"a":1}\n');
    expect(taking()).toEqual({ takes: [['a.jsonl', 8]], changes: [] });
    expect(taking()).toEqual(nothing);
    appendFileSync(pathOf('a.jsonl'), '{"b":2}\n');
    expect(taking()).toEqual({ takes: [['a.jsonl', 16]], changes: [] });
    expect(taking()).toEqual(nothing);
  });

  it('another file of the same name, size and time is taken, also where the first one had no whole line', () => {
    const at = new Date(1_700_000_000_000);
    for (const [text, taken] of [
      ['{"half":1', []],
      ['{"a":12}\n', [['a.jsonl', 9]]],
      ['{"b":12}\n', [['a.jsonl', 9]]],
    ] as const) {
      write('draft', text);
      utimesSync(pathOf('draft'), at, at);
      renameSync(pathOf('draft'), pathOf('a.jsonl'));
      expect(taking().takes).toEqual(taken);
    }
  });

  it('a half-written last line waits, byte by byte', () => {
    write('a.jsonl', '{"a":1}\n');
    taking();
    const line = '{"text":"}{","é":[1]}';
    for (const byte of Buffer.from(line).subarray(0, -1)) {
      appendFileSync(pathOf('a.jsonl'), Buffer.of(byte));
      expect(taking()).toEqual(nothing);
    }
    appendFileSync(pathOf('a.jsonl'), '}');
    // an object that is whole needs no line feed
    expect(taking().takes).toEqual([['a.jsonl', 8 + Buffer.byteLength(line)]]);
    appendFileSync(pathOf('a.jsonl'), '\n{"half');
    taking();
    expect(places.get('a.jsonl')?.taken).toBe(9 + Buffer.byteLength(line));
  });

  it('a last line longer than one block of reading waits too', () => {
    const long = JSON.stringify({ text: 'x'.repeat(200_000) });
    write('a.jsonl', `{"a":1}\n${long.slice(0, -1)}`);
    expect(taking().takes).toEqual([['a.jsonl', 8]]);
    appendFileSync(pathOf('a.jsonl'), '}');
    expect(taking().takes).toEqual([['a.jsonl', 8 + long.length]]);
  });

  it('a file without a whole line, and an empty one, wait', () => {
    write('a.jsonl', '{"a"');
    write('b.jsonl', '');
    expect(taking()).toEqual(nothing);
    appendFileSync(pathOf('b.jsonl'), '{}');
    expect(taking().takes).toEqual([['b.jsonl', 2]]);
  });

  it('garbage after the last line never makes it take less than it had', () => {
    write('a.jsonl', '{"a":1}');
    taking();
    appendFileSync(pathOf('a.jsonl'), '{"b');
    expect(taking()).toEqual(nothing);
  });

  it('a renamed file keeps its place and the name by which it is known', () => {
    write('a.jsonl', '{"a":1}\n');
    taking();
    renameSync(pathOf('a.jsonl'), pathOf('b.jsonl'));
    expect(taking()).toEqual({ takes: [], changes: [['renamed', 'b.jsonl']] });
    expect(places.get('b.jsonl')?.knownAs).toBe('a.jsonl');
    expect(taking()).toEqual(nothing);
    appendFileSync(pathOf('b.jsonl'), '{"b":2}\n');
    mkdirSync(pathOf('deep'));
    renameSync(pathOf('b.jsonl'), pathOf('deep/c.jsonl'));
    expect(taking()).toEqual({ takes: [['deep/c.jsonl', 16]], changes: [['renamed', 'deep/c.jsonl']] });
  });

  it('a rotated file is taken to its end under its new name, and the new file from its beginning', () => {
    write('a.jsonl', '{"a":1}\n');
    taking();
    appendFileSync(pathOf('a.jsonl'), '{"b":2}\n');
    renameSync(pathOf('a.jsonl'), pathOf('a.jsonl.1'));
    write('a.jsonl', '{"c":3}\n');
    expect(taking()).toEqual({
      takes: [
        ['a.jsonl', 8],
        ['a.jsonl.1', 16],
      ],
      changes: [
        ['rotated', 'a.jsonl'],
        ['renamed', 'a.jsonl.1'],
      ],
    });
    expect(places.get('a.jsonl.1')?.knownAs).toBe('a.jsonl');
    expect(taking()).toEqual(nothing);
    appendFileSync(pathOf('a.jsonl.1'), '{"d":4}\n');
    expect(taking()).toEqual({ takes: [['a.jsonl.1', 24]], changes: [] });
  });

  it('a file that was cut is read from its beginning', () => {
    write('a.jsonl', '{"a":1}\n{"b":2}\n');
    taking();
    truncateSync(pathOf('a.jsonl'), 8);
    expect(taking()).toEqual({ takes: [['a.jsonl', 8]], changes: [['truncated', 'a.jsonl']] });
    writeFileSync(pathOf('a.jsonl'), '{"x":1}\n{"y":2}\n');
    notBefore.set('a.jsonl', nowMs + 1);
    expect(taking()).toEqual(nothing);
    nowMs += 1;
    expect(taking()).toEqual({ takes: [['a.jsonl', 16]], changes: [['truncated', 'a.jsonl']] });
  });

  it('a file that was written again in its length is read again', () => {
    const head = `{"a":"${'x'.repeat(2000)}"}\n`;
    write('a.jsonl', `${head}{"b":2}\n`);
    taking();
    write('a.jsonl', `${head}{"b":3}\n`);
    utimesSync(pathOf('a.jsonl'), 1, 1);
    expect(taking().takes).toHaveLength(1);
  });

  it('a removed file is reported once', () => {
    write('a.jsonl', '{"a":1}\n');
    taking();
    rmSync(pathOf('a.jsonl'));
    expect(taking()).toEqual({ takes: [], changes: [['vanished', 'a.jsonl']] });
    expect(taking()).toEqual(nothing);
  });

  it('a document is taken when it has been unchanged for two seconds, and at once if nobody looks again', () => {
    write('a.json', '{"a":1}');
    const { modifiedMs = 0 } = fileAt(folder, 'a.json') ?? {};
    nowMs = modifiedMs + 1500;
    expect(looking().takes).toEqual([]);
    expect(looking().againMs).toBe(500);
    expect(looking(true).takes).toHaveLength(1);
    nowMs = modifiedMs + 2000;
    expect(looking().takes).toHaveLength(1);
  });

  it('a file that was read a moment ago waits its time', () => {
    write('a.jsonl', '{"a":1}\n');
    notBefore.set('a.jsonl', nowMs + 700);
    expect(looking()).toMatchObject({ takes: [], againMs: 700 });
    nowMs += 700;
    expect(looking().takes).toHaveLength(1);
  });

  it('what cannot be read is named at each look, and taken once it can', () => {
    write('a.jsonl', '{"a":1}\n');
    write('open/b.jsonl', '{"b":1}\n');
    write('shut/c.jsonl', '{"c":1}\n');
    chmodSync(folder, 0o755);
    chmodSync(pathOf('open/b.jsonl'), 0);
    chmodSync(pathOf('shut'), 0);
    for (let times = 0; times < 2; times += 1) {
      const { takes, closed } = asNobody(() => looking());
      expect(takes.map(({ file }) => file.name)).toEqual(['a.jsonl']);
      expect(closed).toEqual([
        { name: 'shut', code: 'EACCES' },
        { name: 'open/b.jsonl', code: 'EACCES' },
      ]);
    }
    chmodSync(pathOf('open/b.jsonl'), 0o644);
    chmodSync(pathOf('shut'), 0o755);
    const { takes, closed } = asNobody(() => looking());
    expect([takes.map(({ file }) => file.name), closed]).toEqual([
      ['a.jsonl', 'open/b.jsonl', 'shut/c.jsonl'],
      [],
    ]);
  });
});
