import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { Envelope } from '../../../src/core/mcp/envelope.ts';

const envelope = (text: string): Envelope => new Envelope(Buffer.from(text));

describe('Envelope', () => {
  it.each([
    ['7', '7'],
    ['"7"', '"7"'],
    ['"\\u0061"', '"a"'],
    ['12345678901234567890', '12345678901234567890'],
    ['null', undefined],
    ['1e2', undefined],
    ['1.0', undefined],
    ['[1]', undefined],
  ])('reads the id %s as %j', (spelled, id) => {
    expect(envelope(`{"id":${spelled}}`).id).toBe(id);
  });

  it('keeps the text of numbers that a double changes', () => {
    const raw = envelope('{"result":{"n": 12345678901234567890.10}}').raw('result');
    expect(Buffer.from(raw ?? []).toString()).toBe('{"n": 12345678901234567890.10}');
  });

  it.each(['ID', 'Method', 'PARAMS', 'Result', 'jsonRPC'])(
    'refuses the name %s, which some servers fold',
    (name) => {
      expect(() => envelope(`{"${name}":1}`)).toThrow(`got "${name}"`);
    },
  );

  it('accepts unknown names in any case, and the depth of the limit but no more', () => {
    expect(envelope('{"Extra":1}').has('Extra')).toBe(true);
    const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    expect(envelope(nested(limits.mcpDepth)).has('a')).toBe(true);
    expect(() => envelope(nested(limits.mcpDepth + 1))).toThrow('levels');
  });
});
