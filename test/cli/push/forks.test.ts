import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copiedFrom } from '../../../src/cli/push/forks.ts';
import { balanceOfBytes, copiedIn } from '../../../src/core/intake/balance-file.ts';
import { differenceOf, readBalance } from '../../../src/core/balance/statement.ts';
import { Folder, push } from './harness.ts';
import { Listing } from './service.ts';

let folder: Folder;
let service: Listing;
beforeEach(() => {
  folder = new Folder();
  service = new Listing();
});
afterEach(() => folder.remove());

const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 10, 0, second)).toISOString();
type Line = Readonly<Record<string, unknown>>;
const id = (kind: string, number: number) =>
  `${kind}0000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const turn = (number: number): Line[] => [
  {
    type: 'user',
    uuid: id('a', number),
    timestamp: at(10 * number),
    message: { role: 'user', content: `Pay ${number}.` },
  },
  { type: 'api-request', id: `q${number}`, timestamp: at(10 * number + 1) },
  {
    type: 'assistant',
    uuid: id('c', number),
    timestamp: at(10 * number + 2),
    message: {
      id: `m${number}`,
      role: 'assistant',
      model: 'm',
      content: [{ type: 'tool_use', id: `t${number}`, name: 'pay', input: { number } }],
    },
  },
  {
    type: 'user',
    uuid: id('d', number),
    timestamp: at(10 * number + 3),
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${number}`, content: 'paid' }] },
  },
];
/** What a fork writes of the lines before it: those of a conversation. */
const copies = (...lines: Line[]) => lines.filter(({ uuid }) => uuid !== undefined);
const write = (session: string, lines: readonly Line[], from = 'x') =>
  folder.write(
    `${from}/${session}.jsonl`,
    lines.map((line) => `${JSON.stringify({ ...line, sessionId: session })}\n`).join(''),
  );
const enqueue = (second: number) => ({
  type: 'queue-operation',
  operation: 'enqueue',
  timestamp: at(second),
});
const pushing = (...files: string[]) => push({ files, from: 'auto' }, { folder, service, output: 'json' });
const calls = () =>
  service.recorded
    .filter(({ eventType }) => eventType === 'tool.call')
    .map(({ clientEventId }) => clientEventId)
    .toSorted();
const read = (path: string) => copiedFrom(path, Buffer.from(folder.read(path)));

describe('a fork of Claude Code that names no parent', () => {
  const parent = [...turn(1), ...turn(2)];
  const fork = [enqueue(40), ...copies(...parent), ...turn(4)];

  it.each([
    ['the folder', [['x']]],
    ['the parent first', [['x/b.jsonl'], ['x/a.jsonl']]],
    ['the fork first', [['x/a.jsonl'], ['x/b.jsonl'], ['x']]],
  ])('has the calls after the fork alone, in any order of pushes: %s', async (_, pushes) => {
    write('b', parent);
    write('a', fork);
    for (const files of pushes) expect((await pushing(...files)).code).toBe(0);
    expect(calls()).toEqual([`a:${id('c', 4)}.call`, `b:${id('c', 1)}.call`, `b:${id('c', 2)}.call`]);
    const balances = service.recorded.flatMap(({ metadata }) => readBalance(metadata) ?? []);
    expect(balances.flatMap(({ inherited }) => inherited)).toContainEqual(
      expect.objectContaining({ run: 'b', calls: 2, results: 2, prompts: 2, through: id('d', 2) }),
    );
  });

  it('its balance is repeated with its own file alone', async () => {
    write('b', parent);
    const path = write('a', fork);
    await pushing('x');
    const stated = service.recorded
      .filter(({ runId }) => runId === 'a')
      .flatMap(({ metadata }) => readBalance(metadata) ?? [])[0]!;
    const again = balanceOfBytes('a.jsonl', Buffer.from(folder.read(path)), { copied: copiedIn(stated) });
    expect(again.faults).toEqual([]);
    expect(differenceOf(stated, again.balance)).toBeUndefined();
    expect(differenceOf(stated, balanceOfBytes('a.jsonl', Buffer.from(folder.read(path))).balance)).toContain(
      'calls',
    );
  });

  it('each file is told from its parent, also where both grew since, and a fork was forked', () => {
    const paths = [
      write('c', [...parent, ...turn(6)]),
      write('a', fork),
      write('b', [enqueue(60), ...copies(...fork), ...turn(7)]),
    ];
    expect(paths.map(read)).toEqual([
      undefined,
      { run: 'c', through: id('d', 2) },
      { run: 'a', through: id('d', 4) },
    ]);
  });

  it('without housekeeping, the one that ended at the fork is the parent, else one of the two', () => {
    const bare = copies(...parent);
    const ended = [write('b', bare), write('a', [...bare, ...copies(...turn(4))])];
    expect(ended.map(read)).toEqual([undefined, { run: 'b', through: id('d', 2) }]);
    const both = [write('b', [...bare, ...copies(...turn(3))]), write('a', [...bare, ...copies(...turn(4))])];
    expect(both.map(read)).toEqual([{ run: 'a', through: id('d', 2) }, undefined]);
  });

  it('without its parent it keeps all of its lines, and sessions of their own are left alone', () => {
    const alone = write('a', fork, 'y');
    write('b', turn(5), 'y');
    folder.write('y/c.jsonl', `{"uuid":"${id('a', 1)}"}\n`);
    // the same id with other words is another line
    write(
      'e',
      turn(1).map((line) => ({ ...line, timestamp: at(50) })),
      'y',
    );
    expect(read(alone)).toBeUndefined();
    // a copy of the same session under another name is no parent
    folder.write('y/d.jsonl', folder.read(alone));
    expect(read(alone)).toBeUndefined();
  });
});
