import { describe, expect, it } from 'vitest';
import { isWhole, readBalance, unbalanced } from '../../../src/core/balance/statement.ts';
import { balanceFile } from '../../../src/core/intake/balance-file.ts';
import { foundExceptions, unseenExceptions } from '../../../src/core/intake/exceptions.ts';
import { formatNames } from '../../../src/core/intake/names.ts';
import { importRuns } from '../../../src/core/intake/registry.ts';
import type { ImportedRun } from '../../../src/core/intake/run.ts';
import { limits } from '../../../src/contract/limits.ts';
import { documents, type BadDocument } from '../../../src/core/intake/source.ts';

/** Imports a text, lets a careless importer change the runs, and balances the file. */
function balance(text: string, careless: (run: ImportedRun) => ImportedRun = (run) => run) {
  const refused: BadDocument[] = [];
  const runs = importRuns(documents(text, 'a.jsonl'), {
    format: 'auto',
    importedAt: 0,
    sourceName: 'a.jsonl',
    refused: (bad) => refused.push(bad),
  });
  const found = balanceFile({
    name: 'a.jsonl',
    bytes: Buffer.from(text),
    runs: [...runs].map(careless),
    refused,
  });
  expect(unbalanced(found.balance)).toEqual([]);
  expect(readBalance(JSON.parse(JSON.stringify(found.balance)))).toEqual(found.balance);
  return { ...found, faults: found.faults.map(({ kind, why }) => `${kind} ${why}`) };
}

const said = (type: string, uuid: string, message: object) =>
  JSON.stringify({ type, sessionId: 's', uuid, timestamp: '2026-01-05T09:00:00Z', message });
const user = (uuid: string, content: unknown) => said('user', uuid, { role: 'user', content });
const model = (uuid: string, content: unknown, id = uuid) =>
  said('assistant', uuid, { id, role: 'assistant', model: 'm', content });
const call = (id: string) => ({ type: 'tool_use', id, name: 'pay', input: { to: id } });
const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'paid' });
const lines = [
  user('u1', 'Pay both'),
  model('u2', [call('t1')]),
  user('u3', [result('t1')]),
  model('u4', [call('t2')]),
  user('u5', [result('t2')]),
  model('u6', [{ type: 'text', text: 'Paid both.' }]),
];
const session = lines.join('\n');
const without = (wanted: string) => (run: ImportedRun) => ({
  ...run,
  events: run.events.filter(
    ({ eventType, metadata }) => `${eventType} ${String(metadata?.['toolCallId'] ?? '')}`.trim() !== wanted,
  ),
});

describe('the balance of a file', () => {
  it('comes out for a session that was read whole', () => {
    const { balance: found, faults } = balance(session);
    expect(faults).toEqual([]);
    expect(found).toMatchObject({
      source: { name: 'a.jsonl', format: 'claude-code', accounted: 1, bytes: session.length },
      found: { calls: 2, results: 2, prompts: 1, outputs: 1 },
      recorded: { calls: 2, results: 2, prompts: 1, outputs: 1 },
      leftOut: { parts: 0 },
    });
    expect(isWhole(found)).toBe(true);
  });

  it.each([
    ['a call', 'tool.call t2', 'calls unread'],
    ['a result', 'tool.result t1', 'results unread'],
    ['a prompt', 'prompt.submitted', 'prompts unread'],
    ['an answer', 'output.delivered', 'outputs unread'],
  ])('names %s that an importer drops', (_, dropped, fault) => {
    const { faults, balance: found } = balance(session, without(dropped));
    expect(faults).toEqual([fault]);
    expect(isWhole(found)).toBe(false);
    expect(found.remainder).toHaveLength(1);
  });

  it('takes no call for a copy that has the id of another and asks for something else', () => {
    const asking = (more: object) => model('u2', [{ ...call('t1'), ...more }]);
    const again = (more: object) =>
      balance([...lines.slice(0, 2), asking(more), ...lines.slice(2)].join('\n'));
    expect(again({ caller: 'x' }).faults).toEqual([]);
    expect(again({ input: '{"to":"t1"}' }).faults).toEqual([]);
    expect(again({ input: {} }).faults).toEqual([]);
    expect(again({ name: 'delete' }).faults).toEqual(['calls unread']);
    expect(again({ input: { to: 'thief' } }).faults).toEqual(['calls unread']);
  });

  it('comes out at each line of a session that is being streamed', () => {
    const text = (words: string) => ({ type: 'text', text: words });
    const streamed = [
      user('u1', 'Pay'),
      model('m1', [text('I')], 'm'),
      model('m2', [text('I pay'), { ...call('t1'), input: {} }], 'm'),
      model('m3', [text('I pay both.'), call('t1')], 'm'),
    ];
    for (const at of streamed.keys())
      expect(balance(streamed.slice(0, at + 1).join('\n')).faults).toEqual([]);
  });

  it('compares copies with numbers that only Python writes', () => {
    const parts = [[call('t1')], [{ ...call('t1'), more: 'NaN' }], [{ type: 'text', text: 'Let' }]];
    const answers = [...parts, [{ type: 'text', text: 'Let me', more: 'NaN' }]].map((part, at) =>
      model(`m${at}`, part, 'm').replaceAll('"NaN"', 'NaN'),
    );
    const { faults, balance: found } = balance([lines[0], ...answers].join('\n'));
    expect([faults, found.repeated]).toEqual([[], { calls: 1, outputs: 1 }]);
  });

  it('takes no event for a call whose tool it does not have, where the file shows it', () => {
    const asked = {
      role: 'assistant',
      tool_calls: [{ id: 'c1', function: { name: 'pay', arguments: '{}' } }],
    };
    const chat = (message: object) =>
      JSON.stringify({ messages: [{ role: 'user', content: 'Pay' }, message] });
    expect(balance(chat(asked)).faults).toEqual([]);
    const moved = chat(asked).replace('"function"', '"x_function"');
    expect(balance(moved).faults).toContain('calls unread');
  });

  it('names the place of what is dropped, its size and its hash', () => {
    const { balance: found } = balance(session, without('tool.call t2'));
    expect(found.remainder).toEqual([
      {
        where: 'line 4 /message/content/0',
        why: 'a call (t2): the importer did not read it',
        bytes: JSON.stringify(call('t2')).length,
        hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      },
    ]);
    expect(found.source.accounted).toBeLessThan(1);
  });

  it('names a call that an importer records twice, and one that it makes up', () => {
    const doubled = (id: string) => (run: ImportedRun) => ({
      ...run,
      events: run.events.flatMap((event) =>
        event.metadata?.['toolCallId'] !== 't1' || event.eventType !== 'tool.call'
          ? [event]
          : [event, { ...event, clientEventId: 'again', metadata: { ...event.metadata, toolCallId: id } }],
      ),
    });
    expect(balance(session, doubled('t1')).faults).toEqual(['calls twice']);
    expect(balance(session, doubled('t3')).faults).toEqual(['calls unseen']);
  });

  it('does not let a call that is made up stand for one that is dropped', () => {
    const renamed = (run: ImportedRun) => ({
      ...run,
      events: run.events.map((event) =>
        event.metadata?.['toolCallId'] === 't1'
          ? { ...event, metadata: { ...event.metadata, toolCallId: 't9' } }
          : event,
      ),
    });
    expect(balance(session, renamed).faults).toEqual([
      'calls unread',
      'results unread',
      'calls unseen',
      'results unseen',
    ]);
  });

  it('counts a copy as repeated only if the importer met one, or the bytes are equal', () => {
    const twice = [...lines, lines[1] ?? ''].join('\n');
    expect(balance(twice)).toMatchObject({
      faults: [],
      balance: { found: { calls: 3 }, recorded: { calls: 2 }, repeated: { calls: 1 } },
    });
    const other = [...lines, model('u7', [{ ...call('t1'), input: { to: 'someone else' } }])].join('\n');
    const careless = (run: ImportedRun) => ({
      ...run,
      changes: new Map(),
      events: run.events.filter(({ metadata }) => metadata?.['toolCallId'] !== 't1~2'),
    });
    expect(balance(other, careless).faults).toEqual(['calls unread']);
  });

  it('takes the beginning of an answer in a stream as the answer itself', () => {
    const text = (words: string) => [{ type: 'text', text: words }];
    const stream = [user('u1', 'Hi'), model('u2', text('Hel'), 'm1'), model('u3', text('Hello'), 'm1')];
    expect(balance(stream.join('\n'))).toMatchObject({ faults: [], balance: { repeated: { outputs: 1 } } });
  });

  it('counts what another run has, by the importer’s word, and not more than the file has', () => {
    const inherits = (calls: number) => (run: ImportedRun) => ({
      ...without('tool.call t2')(run),
      inherited: [{ run: 'parent', calls, results: 0, prompts: 0, outputs: 0 }],
    });
    expect(balance(session, inherits(1))).toMatchObject({
      faults: [],
      balance: { inherited: [{ run: 'parent', calls: 1 }] },
    });
    const refused: BadDocument[] = [];
    const runs = [...importRuns(documents(session, 'a'), { format: 'auto', importedAt: 0, sourceName: 'a' })];
    const { faults } = balanceFile({
      name: 'a',
      bytes: Buffer.from(session),
      runs: runs.map(inherits(2)),
      refused,
    });
    expect(faults.map(({ why }) => why)).toEqual(['inherited']);
  });

  it('keeps a call that stands in the arguments of another apart from the calls', () => {
    const nested = [
      user('u1', 'Ask'),
      model('u2', [{ ...call('t1'), input: { messages: [call('t5'), { role: 'user', content: 'x' }] } }]),
    ];
    expect(balance(nested.join('\n'))).toMatchObject({
      faults: [],
      balance: { excepted: [{ exception: 'content-of-a-call', calls: 1, prompts: 1 }] },
    });
  });

  it('has a name, a reason and known formats for each exception', () => {
    const all = [...foundExceptions, ...unseenExceptions];
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    for (const { name, reason, formats = [] } of all) {
      expect(name).toMatch(/^[a-z-]+$/);
      expect(reason).toMatch(/^[A-Z].*\.$/);
      expect(formatNames).toEqual(expect.arrayContaining([...formats]));
    }
  });
});

describe('a file of which the importer understands little', () => {
  /** A session with a block of `unknown` bytes that no importer knows, of `total` bytes. */
  function sessionOf(unknown: number, total: number): string {
    const bare = { blob: '', type: 'quantum' };
    const block = { ...bare, blob: 'x'.repeat(unknown - JSON.stringify(bare).length) };
    const text = (words: string) => [user('u1', words), model('u2', [block])].join('\n');
    return text('x'.repeat(total - text('').length));
  }

  it('is taken for one of its program at 95 %, and for one of another just below', () => {
    const percent = limits.balanceUnderstoodPercent;
    const [unknown, total] = [100 * (100 - percent), 100 * 100];
    const enough = balance(sessionOf(unknown, total));
    expect([enough.balance.source.accounted, enough.strange]).toEqual([percent / 100, undefined]);
    const little = balance(sessionOf(unknown + 1, total));
    expect(little.strange).toMatchObject({
      understood: percent - 0.1,
      first: { where: 'line 2 /message/content/0', bytes: unknown + 1 },
    });
  });

  it('lines of another program count, and a line that is cut off does not', () => {
    const other =
      '{"program":"another","says":"something that gov does not read at all, in a line of its own"}';
    expect(balance(`${session}\n${other}`).strange?.first.where).toBe('line 7');
    expect(balance(`${session}\n${other.slice(0, -1)}`).strange).toBeUndefined();
  });
});
