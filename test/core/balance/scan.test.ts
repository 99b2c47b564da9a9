import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Scanner, type Broken, type RawFact } from '../../../src/core/balance/scan.ts';
import { sha256Text } from '../../../src/core/hash.ts';
import { data, hasData } from '../../paths.ts';

function scan(text: string | Uint8Array, chunkBytes = Infinity): { found: RawFact[]; broken: Broken[] } {
  const bytes = Buffer.from(text);
  const found: RawFact[] = [];
  const broken: Broken[] = [];
  const scanner = new Scanner({ found: (each) => found.push(each), broken: (each) => broken.push(each) });
  for (let at = 0; at < bytes.length; at += chunkBytes) scanner.feed(bytes.subarray(at, at + chunkBytes));
  scanner.end();
  return { found, broken };
}
const briefly = ({ kind, pointer, id, name }: RawFact) =>
  [kind, pointer, id, name].filter((each) => each !== undefined).join(' ');
const of = (value: unknown) => scan(JSON.stringify(value)).found.map(briefly);

describe('what the shape of an object says', () => {
  it.each<[string, unknown, string[]]>([
    ['a call of Anthropic', { type: 'tool_use', id: 't1', name: 'pay', input: {} }, ['calls  t1 pay']],
    [
      'a call of OpenAI, whose name stands inside',
      { tool_calls: [{ id: 'c1', type: 'function', function: { name: 'pay', arguments: '{}' } }] },
      ['calls /tool_calls/0 c1 pay'],
    ],
    [
      'a call of Responses, by the id of the call',
      { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'pay', arguments: '' },
      ['calls  c1 pay'],
    ],
    [
      'a call of Gemini, without an id',
      { functionCall: { name: 'pay', args: {} } },
      ['calls /functionCall pay'],
    ],
    [
      'a call of MCP, whose id is that of the message',
      { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'pay', arguments: {} } },
      ['calls  7 pay'],
    ],
    [
      'a call of Bedrock',
      { toolUse: { toolUseId: 'b1', name: 'pay', input: {} } },
      ['calls /toolUse b1 pay'],
    ],
    [
      'a call that has its output',
      { toolCallId: 'a1', toolName: 'pay', args: {}, result: 'paid' },
      ['calls  a1 pay', 'results  a1 pay'],
    ],
    ['the definition of a tool is no call', { name: 'pay', parameters: {}, description: '' }, []],
    ['an input that is null is none', { id: 'x', name: 'pay', input: null }, []],
    ['a result of Anthropic', { type: 'tool_result', tool_use_id: 't1', content: 'paid' }, ['results  t1']],
    ['a result of OpenAI', { role: 'tool', tool_call_id: 'c1', content: 'paid' }, ['results  c1']],
    ['a result of Responses', { call_id: 'c1', output: '' }, ['results  c1']],
    [
      'a result of Gemini',
      { functionResponse: { name: 'pay', response: {} } },
      ['results /functionResponse pay'],
    ],
    [
      'a call of Ollama, without an id',
      { tool_calls: [{ function: { name: 'pay', arguments: {} } }] },
      ['calls /tool_calls/0 pay'],
    ],
    ['a result of Ollama', { role: 'tool', tool_name: 'pay', content: 'paid' }, ['results  pay']],
    ['a result that is an error', { toolCallId: 'c1', error: { message: 'away' } }, ['results  c1']],
    ['an error that is null is none', { toolCallId: 'c1', error: null }, []],
    ['a result that names nothing is none', { role: 'tool', content: 'paid' }, []],
    ['the id of a call without a content is no result', { tool_call_id: 'c1' }, []],
    ['a prompt', { role: 'user', content: 'Pay' }, ['prompts ']],
    ['a prompt in parts', { role: 'human', parts: [{ text: 'Pay' }] }, ['prompts ']],
    ['a prompt whose role comes last', { content: [{ text: 'Pay' }], role: 'user' }, ['prompts ']],
    ['an empty prompt is none', { role: 'user', content: '' }, []],
    [
      'the text of a result is not its message’s',
      { role: 'user', content: [{ tool_use_id: 't1', content: [{ type: 'text', text: 'paid' }] }] },
      ['results /content/0 t1'],
    ],
    [
      'an output',
      { role: 'assistant', id: 'm1', content: [{ type: 'text', text: 'Paid' }] },
      ['outputs  m1'],
    ],
    ['an output of Gemini', { role: 'model', parts: [{ text: 'Paid' }] }, ['outputs ']],
    ['thinking is no output', { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm' }] }, []],
    ['instructions are neither', { role: 'system', content: 'Be careful' }, []],
    ['a name from a prototype is no role', { role: 'constructor', content: 'x' }, []],
  ])('%s', (_, value, expected) => {
    expect(of(value)).toEqual(expected);
    expect(of({ deep: [{ er: value }] })).toHaveLength(expected.length);
  });

  it('names the line, the pointer, the bytes, the types around it and the hash of the text', () => {
    const text = '{"type":"a"}\n\n{"message":{"role":"user","content":"p\\u0061y\\n"},"type":"b"}\n';
    const [found] = scan(text).found;
    const start = text.indexOf('{"role"');
    expect(found).toMatchObject({
      line: 3,
      document: 3,
      pointer: '/message',
      start,
      end: text.indexOf(',"type":"b"'),
      types: 'b',
      text: sha256Text('pay\n'),
    });
  });
});

const prompt = '{"role":"user","content":"a"}';

describe('bytes that are no JSON to their end', () => {
  it.each<[string, string, number, number]>([
    ['a line that is cut in a text', `${prompt}\n{"role":"user","con\n${prompt}\n`, 2, 1],
    ['a line that is cut after a colon', `${prompt}\n{"role":\n${prompt}\n`, 2, 1],
    ['the last line is cut', `${prompt}\n${prompt}\n{"role":"user","content":"a"`, 2, 1],
    ['a first line that is cut', `{"role":"user",\n${prompt}\n${prompt}\n`, 2, 1],
    ['two lines that became one', `${prompt}\n{"a":1,${prompt}\n${prompt}\n`, 2, 1],
    ['a wrong bracket', `{"a":[1}\n${prompt}`, 1, 1],
    ['a comma too many', `{"a":[1,]}\n${prompt}`, 1, 1],
    ['other text between lines', `hello\n${prompt}\nC ${prompt}\n`, 2, 0],
    ['texts after record separators', `\x1e${prompt}\n\x1e{\n"role":"user","content":"b"}\n`, 2, 0],
    ['values over several lines', `{\n"role":"user",\n"content":"b"\n}\n{\n"a":1\n}\n`, 1, 0],
    ['numbers that only Python writes', `{"a":NaN,"b":-Infinity,"c":${prompt}}`, 1, 0],
    ['nothing', '', 0, 0],
  ])('%s', (_, text, found, broken) => {
    const scanned = scan(text);
    expect([scanned.found.length, scanned.broken.length]).toEqual([found, broken]);
    for (const chunk of [1, 2, 3, 7]) expect(scan(text, chunk)).toEqual(scanned);
  });

  it('counts nothing of a document that breaks off after a whole message', () => {
    expect(scan(`[${prompt},${prompt}`)).toEqual({ found: [], broken: [{ line: 1, start: 0, end: 60 }] });
  });

  it('reads 1,000 levels, and not one more, without a stack', () => {
    const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}\n${prompt}`;
    expect(scan(deep(1000))).toMatchObject({ found: { length: 1 }, broken: [] });
    expect(scan(deep(1001))).toMatchObject({ found: { length: 1 }, broken: { length: 1 } });
    expect(scan('['.repeat(1_000_000)).broken).toHaveLength(1);
  });
});

/** The same rules over parsed values, without bytes. */
function naive(value: unknown, key = '', counts: Record<string, number> = {}): Record<string, number> {
  if (typeof value !== 'object' || value === null) return counts;
  for (const [name, each] of Object.entries(value))
    naive(each, Array.isArray(value) ? `item of ${key}` : name, counts);
  if (Array.isArray(value)) return counts;
  const has = (names: string) => names.split(' ').some((name) => (value[name as never] ?? null) !== null);
  const isNamed = (each: object) =>
    ['name', 'tool_name', 'toolName'].some(
      (name) => typeof each[name as never] === 'string' && each[name as never] !== '',
    );
  const isCall = (each: object) =>
    isNamed(each) &&
    ['input', 'arguments', 'args', 'parameters'].some((name) => (each[name as never] ?? null) !== null);
  const callIds = 'call_id callId tool_call_id toolCallId tool_use_id toolUseId';
  const isId = (name: string) =>
    ['string', 'number'].includes(typeof value[name as never]) && value[name as never] !== '';
  const called = callIds.split(' ').some(isId);
  const inner = Object.values(value).filter(
    (each): each is object => typeof each === 'object' && each !== null && !Array.isArray(each),
  );
  const ownIds = (each: object) =>
    `${callIds} id`
      .split(' ')
      .some(
        (name) => ['string', 'number'].includes(typeof each[name as never]) && each[name as never] !== '',
      );
  const isInner = inner.some(
    (each) => isCall(each) && !ownIds(each) && (value as { functionCall?: unknown }).functionCall !== each,
  );
  const count = (kind: string) => (counts[kind] = (counts[kind] ?? 0) + 1);
  if (
    (isCall(value) || isInner) &&
    (called || isId('id') || /^(functionCall|item of tool_calls)$/.test(key))
  ) {
    count('calls');
    if (has('output result')) count('results');
  } else if (
    !(isCall(value) || isInner) &&
    (((called || ((value as { role?: unknown }).role === 'tool' && isNamed(value))) &&
      has('content response error output result')) ||
      key === 'functionResponse')
  )
    count('results');
  const { role, content, parts, text } = value as {
    role?: unknown;
    content?: unknown;
    parts?: unknown;
    text?: unknown;
  };
  const says = (each: unknown): boolean =>
    Array.isArray(each)
      ? each.some((part) =>
          typeof part === 'string' ? part !== '' : typeof part?.text === 'string' && part.text !== '',
        )
      : typeof each === 'object' && each !== null && typeof (each as { text?: unknown }).text === 'string';
  const speaks =
    (typeof content === 'string' && content !== '') ||
    (typeof text === 'string' && text !== '') ||
    says(content) ||
    says(parts);
  if (speaks && ['user', 'human'].includes(String(role))) count('prompts');
  if (speaks && ['assistant', 'model'].includes(String(role))) count('outputs');
  return counts;
}

const files = [
  'tau-bench/gpt-4o-airline.json',
  'swe-agent/function_calling_simple.traj',
  'openhands/trajs__basic.json',
  'langfuse-framework-traces/pydantic-ai-tools-2025-12-04.trace.json',
  'agents/transcript-a48c2586-1147-4b76-9f7a-4637e11f95e6.jsonl',
  'mcp/stdio-server-everything.jsonl',
];

describe.skipIf(!hasData)('real recordings (skipped without the recorded runs)', () => {
  it.each(files)('%s has what a naive walk over its values counts', (name) => {
    const text = readFileSync(data(name), 'utf8');
    const values = name.endsWith('.jsonl')
      ? text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
      : [JSON.parse(text)];
    const expected: Record<string, number> = {};
    for (const value of values) naive(value, '', expected);
    const counts: Record<string, number> = {};
    for (const { kind } of scan(text, 64 * 1024).found) counts[kind] = (counts[kind] ?? 0) + 1;
    expect(counts).toEqual(expected);
  });
});
