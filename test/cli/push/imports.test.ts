import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { Folder, push } from './harness.ts';
import { apiError, Listing, unreachable } from './service.ts';

let folder: Folder;
let service: Listing;
beforeEach(() => {
  folder = new Folder();
  service = new Listing();
});
afterEach(() => folder.remove());

const chat = (...texts: string[]): string =>
  JSON.stringify(texts.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content })));
const importing = async (name: string, more: Parameters<typeof push>[0] = {}) => {
  const outcome = await push({ files: [name], from: 'auto', ...more }, { folder, service, output: 'json' });
  return { ...outcome, value: outcome.stdout === '' ? undefined : JSON.parse(outcome.stdout) };
};
const texts = (runId?: string) =>
  service.recorded
    .filter((event) => runId === undefined || event['runId'] === runId)
    .flatMap((event) => (event['metadata'] as JsonObject)['content'] ?? []);

describe('importing a recording again', () => {
  it('a repeated import says what it recognized and why, and records nothing twice', async () => {
    folder.write('chat.json', chat('a', 'b'));
    const first = await importing('chat.json');
    expect(first.stderr).toContain('chat.json: read as openai-chat (messages with role and content)');
    expect(first.value).toMatchObject({ accepted: 5, known: 0, rejected: 0 });
    expect((await importing('chat.json')).value).toMatchObject({ accepted: 0, known: 5, rejected: 0 });
  });

  it('a session that uses an id twice is recorded whole, names the id, and can grow', async () => {
    const line = (uuid: string, content: string) =>
      JSON.stringify({ type: 'user', sessionId: 's', uuid, message: { role: 'user', content } });
    const lines = [line('u1', 'a'), line('u1', 'b'), line('u1', 'a')];
    folder.write('s.jsonl', lines.join('\n'));
    const first = await importing('s.jsonl');
    expect(first.value).toMatchObject({ accepted: 4, rejected: 0 });
    expect(first.value.imports[0]).toMatchObject({
      numbered: ['u1'],
      changes: { id_repeated: 1, id_numbered: 1 },
    });
    expect(first.stderr).toContain(
      's.jsonl: ids of several parts with different content: u1; all parts are recorded',
    );
    folder.write('s.jsonl', [...lines, line('u2', 'c')].join('\n'));
    expect((await importing('s.jsonl')).value).toMatchObject({ accepted: 2, known: 3, rejected: 0 });
    expect(texts()).toEqual(['a', 'b', 'c']);
  });

  it('a repeated import adds exactly the new events of a session, in order, without an invented end', async () => {
    folder.write('chat.json', chat('hello', 'hi'));
    await importing('chat.json');
    folder.write('chat.json', chat('hello', 'hi', 'delete the table', 'done'));
    expect(await importing('chat.json')).toMatchObject({ code: 0, value: { accepted: 4, known: 4 } });
    expect(texts()).toEqual(['hello', 'hi', 'delete the table', 'done']);
    expect(new Set(service.recorded.map(({ runId }) => runId)).size).toBe(1);
    expect(service.recorded.some(({ eventType }) => eventType === 'run.ended')).toBe(false);
  });

  it('an import distinguishes two recordings of one name by their content', async () => {
    folder.write('chat.json', chat('read the file', 'done one'));
    const one = await importing('chat.json');
    folder.write('chat.json', chat('delete the table', 'done two'));
    const two = await importing('chat.json');
    expect(one.value.imports[0].runId).not.toBe(two.value.imports[0].runId);
    expect(texts(two.value.imports[0].runId)).toEqual(['delete the table', 'done two']);
  });

  it('an import refuses a whole recording if its run has other content, and shows the difference', async () => {
    folder.write('chat.json', chat('a', 'b'));
    await importing('chat.json', { run: 'r' });
    folder.write('chat.json', chat('a', 'x', 'c', 'd'));
    const { code, stderr } = await importing('chat.json', { run: 'r' });
    expect(code).toBe(9);
    expect(stderr).toMatch(
      /run_exists: the run r exists with other content, so nothing of this recording was stored: \/metadata\/content of r:3 is "b" there and "x" here; --run NAME/,
    );
    expect(texts()).toEqual(['a', 'b']);
    // its neighbours are recorded all the same
    folder.write('other.json', chat('e'));
    await push({ files: ['chat.json', 'other.json'], from: 'auto' }, { folder, service });
    expect(texts()).toContain('e');
  });

  it('an import compares the files of one push, also while events of the first file are in transit', async () => {
    folder.write('one.json', chat('a', 'b'));
    folder.write('two.json', chat('a', 'x'));
    folder.write('three.json', chat('a', 'b', 'c'));
    const files = ['one.json', 'two.json', 'three.json'];
    service.before = () => new Promise((resolve) => setImmediate(resolve));
    const { code, stderr } = await push(
      { files: [...files, 'one.json'], from: 'auto', run: 'r', batchSize: 1 },
      { folder, service },
    );
    expect([code, texts('r')]).toEqual([9, ['a', 'b', 'c']]);
    expect(stderr).toContain('run_exists: the run r exists with other content');
  });

  it('an import refuses only the lines that are not JSON, and imports the others', async () => {
    folder.write(
      'chat.jsonl',
      `{"role":"user","content":"a"}\nWarning: x\n{"role":"assistant","content":"b"}\n`,
    );
    const { code, stderr } = await importing('chat.jsonl');
    expect([code, texts()]).toEqual([9, ['a', 'b']]);
    expect(stderr).toContain('chat.jsonl:2: rejected: invalid_json: expected');
  });

  it('an import finds the run of a trace that is spread over several files of one push', async () => {
    const span = (spanId: string, key: string, value: string) => ({
      traceId: 'a'.repeat(32),
      spanId: spanId.repeat(16),
      name: 'x',
      startTimeUnixNano: '1767603600000000000',
      attributes: [{ key, value: { stringValue: value } }],
    });
    const traces = (one: object) => JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [one] }] }] });
    folder.write('1.json', traces(span('b', 'gen_ai.tool.name', 'pay')));
    folder.write('2.json', traces(span('c', 'session.id', 'my-session')));
    await push({ files: ['1.json', '2.json'], from: 'otlp' }, { folder, service });
    expect(service.recorded.map(({ runId, eventType }) => [runId, eventType])).toEqual([
      ['my-session', 'tool.call'],
      ['my-session', 'gov.balance/1'],
    ]);
  });

  it('an import refuses only the files that are not recordings, and imports the others', async () => {
    folder.write('chat.json', chat('a'));
    folder.write('cut.json', '[{"role":');
    folder.write('other.json', '{"a":1}');
    const files = ['cut.json', 'other.json', 'chat.json'];
    const { code, stderr } = await push({ files, from: 'auto' }, { folder, service });
    expect([code, texts()]).toEqual([9, ['a']]);
    expect(stderr).toMatch(
      /cut\.json:1: rejected: invalid_json: .*\n.*other\.json:1: rejected: validation_error: /s,
    );
    expect((await importing('cut.json')).code).toBe(2);
  });

  it('an import marks events with repaired text', async () => {
    const text = chat('caf\xe9', 'b', 'nul \\u0000').replaceAll('\\\\u', '\\u');
    folder.write('chat.json', Buffer.from(text, 'latin1'));
    expect((await importing('chat.json')).stderr).toContain('not UTF-8 throughout');
    const marks = service.recorded.map(({ metadata }) => (metadata as JsonObject)['importMarks']);
    expect(marks.filter((mark) => mark !== undefined)).toEqual([['repaired'], ['repaired']]);
  });
});

describe('a service that cannot be asked about its runs', () => {
  it('an import sends the whole recording if its key may not read, and reports the uncertainty', async () => {
    folder.write('chat.json', chat('a', 'b'));
    service.stored = async () => {
      throw apiError('FORBIDDEN', 403);
    };
    const { code, stderr, value } = await importing('chat.json');
    expect([code, value.accepted]).toEqual([0, 5]);
    expect(stderr).toContain('gov cannot know what they hold');
  });

  it('an unreachable service ends an import without a spool, and one with a spool continues', async () => {
    folder.write('chat.json', chat('a', 'b'));
    service.stored = async () => {
      throw unreachable();
    };
    expect((await importing('chat.json')).code).toBe(10);
    expect(service.recorded).toEqual([]);
    expect((await importing('chat.json', { spool: `${folder.path}/spool` })).value).toMatchObject({
      accepted: 5,
    });
  });
});
