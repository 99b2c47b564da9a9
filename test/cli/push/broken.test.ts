/** Files that other programs and disks changed: each is refused by name, or read whole, or says what is left out. */
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isWhole, readBalance, type Balance } from '../../../src/core/balance/statement.ts';
import { Folder, push } from './harness.ts';
import { Listing } from './service.ts';

let folder: Folder;
let service: Listing;
beforeEach(() => {
  folder = new Folder();
  service = new Listing();
});
afterEach(() => folder.remove());

const line = (session: string, uuid: string, message: object) =>
  JSON.stringify({
    type: (message as { role?: string }).role,
    sessionId: session,
    uuid: `${session}-${uuid}`,
    timestamp: '2026-01-05T09:00:00Z',
    message,
  });
const linesOf = (session: string) => [
  line(session, 'u1', { role: 'user', content: 'Pay Ada – 5 €' }),
  line(session, 'u2', {
    id: `${session}-m1`,
    role: 'assistant',
    model: 'm',
    content: [{ type: 'tool_use', id: `${session}-t1`, name: 'pay', input: { to: 'Ada' } }],
  }),
  line(session, 'u3', {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: `${session}-t1`, content: 'paid' }],
  }),
  line(session, 'u4', {
    id: `${session}-m2`,
    role: 'assistant',
    model: 'm',
    stop_reason: 'end_turn',
    content: [{ type: 'text', text: 'Paid.' }],
  }),
];
const one = linesOf('one');
const text = `${one.join('\n')}\n`;
const bytes = (of: string) => Buffer.from(of);
const withNuls = (at: number, count: number) =>
  Buffer.concat([bytes(text.slice(0, at)), Buffer.alloc(count), bytes(text.slice(at))]);
const codex = `${[
  { timestamp: '2026-01-05T09:00:00Z', type: 'session_meta', payload: { id: 'cod', cwd: '/work' } },
  {
    timestamp: '2026-01-05T09:00:01Z',
    type: 'response_item',
    payload: { type: 'function_call', call_id: 'k1', name: 'pay', arguments: '{}' },
  },
]
  .map((each) => JSON.stringify(each))
  .join('\n')}\n`;

const outcomeOf = async (content: string | Uint8Array, name = 's.jsonl') => {
  folder.write(`x/${name}`, content);
  const { code, stdout, stderr } = await push(
    { files: ['x'], from: 'auto' },
    { folder, service, output: 'json' },
  );
  const balances = service.recorded.flatMap(({ metadata }) => readBalance(metadata) ?? []);
  return { code, stderr, value: JSON.parse(stdout), balances };
};
const calls = () => service.recorded.filter(({ eventType }) => eventType === 'tool.call').length;

describe('a file that was changed on its way', () => {
  it.each<[string, string | Uint8Array, number]>([
    ['line ends of Windows', text.replaceAll('\n', '\r\n'), 1],
    ['a byte order mark', `\ufeff${text}`, 1],
    ['UTF-16 with its mark', Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from(text, 'utf16le')]), 1],
    ['UTF-16 without a mark', Buffer.from(text, 'utf16le'), 1],
    ['blank lines between the lines', text.replaceAll('\n', '\n\n \n'), 1],
    ['no line feed at its end', text.trimEnd(), 1],
    ['a JSON array of its lines', `[${one.join(',\n')}]`, 1],
    ['record separators', one.map((each) => `\x1e${each}\n`).join(''), 1],
    ['two sessions in one file', text + linesOf('two').join('\n'), 2],
    ['sessions of two programs in one file', text + codex, 2],
  ])('is read whole, and balances: %s', async (_, content, sessions) => {
    const { code, balances, value } = await outcomeOf(content);
    expect([code, value.rejected]).toEqual([0, 0]);
    expect(calls()).toBe(sessions);
    expect(balances).toHaveLength(sessions);
    for (const balance of balances) expect(isWhole(balance)).toBe(true);
  });

  it.each<[string, string | Uint8Array, string | RegExp]>([
    ['gzip', gzipSync(text), 'compressed with gzip'],
    ['Zstandard', Buffer.of(0x28, 0xb5, 0x2f, 0xfd, 0, 1), 'compressed with Zstandard'],
    ['ZIP', bytes('PK\x03\x04....'), 'a ZIP archive'],
    ['a database', bytes('SQLite format 3\0....'), 'a database of SQLite'],
    ['NUL bytes alone', Buffer.alloc(4096), 'invalid_json'],
    ['an HTML page', '<!DOCTYPE html><p>Sign in</p>', 'invalid_json'],
    ['its first half alone, without a line feed', text.slice(0, 40), 'invalid_json'],
  ])('is refused by name: %s', async (_, content, why) => {
    const { code, stderr, value } = await outcomeOf(content);
    expect(code).toBe(9);
    expect(stderr).toContain('x/s.jsonl:1: rejected: ');
    expect(stderr).toMatch(why);
    expect(value.accepted).toBe(0);
  });

  it.each<[string, string | Uint8Array, number]>([
    ['NUL bytes in a line', withNuls(text.indexOf('"paid"') + 3, 8), 3],
    ['NUL bytes between lines', withNuls(text.indexOf('\n') + 1, 512), 2],
    ['NUL bytes at its end', Buffer.concat([bytes(text), Buffer.alloc(512)]), 5],
    ['a line of a log between its lines', text.replace('\n', '\n[info] saved\n'), 2],
    [
      'bytes of another encoding in a line',
      Buffer.concat([bytes(text), Buffer.from('{"a":"é"', 'latin1')]),
      5,
    ],
    ['the end of another line before its first', `"x"}}\n${text}`, 1],
  ])('says what is left out, and where: %s', async (_, content, at) => {
    const { code, stderr, balances } = await outcomeOf(content);
    expect(code).toBe(9);
    expect(stderr).toContain(`x/s.jsonl:${at}: rejected: `);
    const [balance] = balances as [Balance];
    expect(balance.leftOut.parts).toBeGreaterThan(0);
    expect(balance.remainder.map(({ where }) => where)).toContain(`line ${at}`);
  });

  it('an empty file has nothing to record: in a folder it is named, and alone it is refused', async () => {
    const { code, stderr } = await outcomeOf('');
    expect(code).toBe(0);
    expect(stderr).toContain('x/s.jsonl: nothing to record\n');
    const alone = await push({ files: ['x/s.jsonl'], from: 'auto' }, { folder, service });
    expect(alone.code).toBe(2);
    expect(alone.failure).toContain('s.jsonl:1: expected');
  });
});
