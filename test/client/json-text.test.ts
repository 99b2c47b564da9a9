import { describe, expect, it } from 'vitest';
import { jsonText } from '../../src/client/json-text.ts';
import { createClient, createNamespaces, memoryStore } from '../../src/client/index.ts';

const cyclic: unknown[] = [];
cyclic.push(cyclic);

/** Values that JSON has no form for, and what the error names. */
const refused: readonly (readonly [string, unknown, string])[] = [
  ['NaN', Number.NaN, 'NaN'],
  ['Infinity', Number.POSITIVE_INFINITY, 'Infinity'],
  ['-Infinity', Number.NEGATIVE_INFINITY, '-Infinity'],
  ['a BigInt', 1n, 'the BigInt 1'],
  ['a function', () => 1, 'function'],
  ['a symbol', Symbol('x'), 'symbol'],
  ['undefined in a list', [undefined], '/0: expected JSON, got undefined'],
  // oxlint-disable-next-line no-sparse-arrays -- the hole is the case
  ['a hole in a list', [1, , 2], '/1: expected JSON, got undefined'],
  ['a Date', new Date(0), 'a Date; send its toISOString()'],
  ['a Map', new Map([[1, 2]]), 'class Map'],
  ['a Set', new Set([1]), 'class Set'],
  ['an Error', new Error('x'), 'class Error'],
  ['bytes', new Uint8Array(2), 'class Uint8Array'],
  ['a URL', new URL('https://a.example'), 'class URL'],
  ['an object with toJSON', { toJSON: () => 1 }, 'toJSON'],
];

describe('jsonText', () => {
  it.each(refused)('jsonText refuses %s and says where it is', (_, value, got) => {
    expect(() => jsonText({ a: { 'b/c~d': value } })).toThrow(TypeError);
    expect(() => jsonText({ a: { 'b/c~d': value } })).toThrow('/a/b~1c~0d');
    expect(() => jsonText({ a: { 'b/c~d': value } })).toThrow(got);
  });

  it('jsonText leaves out members that are undefined, and writes all else as JSON.stringify does', () => {
    class Point {
      x = 1;
    }
    const value = {
      a: undefined,
      b: [null, true, 'x', -1.5e300],
      c: { d: {} },
      e: new Point(),
      f: Object.create(null),
    };
    expect(jsonText(value)).toBe(JSON.stringify(value));
    expect(jsonText(value)).not.toContain('"a"');
  });

  it('jsonText refuses a cycle, and reads a shared object twice', () => {
    expect(() => jsonText({ cyclic })).toThrow(TypeError);
    const shared = { x: 1 };
    expect(jsonText([shared, shared])).toBe('[{"x":1},{"x":1}]');
  });
});

describe('what a client sends', () => {
  const client = createClient({ baseUrl: 'http://127.0.0.1:9/api/v1', apiKey: 'k', env: {}, retries: 0 });
  const event = (x: unknown) => ({
    runId: 'r',
    eventType: 'agent.step',
    actor: 'a',
    action: 'think',
    timestamp: '2026-03-01T09:30:00Z',
    metadata: { x },
  });

  it.each(refused)('a client refuses an event with %s before it sends it', async (_, x) => {
    await expect(client.createEvent({ body: event(x) })).rejects.toThrow(/\/metadata\/x.*expected JSON/);
  });

  it.each(refused)('a namespace refuses data with %s', async (_, x) => {
    const { memory } = createNamespaces(memoryStore());
    await expect(memory.create({ x })).rejects.toMatchObject({
      status: 400,
      detail: expect.stringContaining('/x'),
    });
    expect((await memory.list()).data).toEqual([]);
  });
});
