import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { definitionsIn, hintsOf } from '../../../src/core/mcp/definition.ts';
import { Envelope } from '../../../src/core/mcp/envelope.ts';

const listed = (tools: string) =>
  definitionsIn(new Envelope(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"tools":${tools}}}`)));

describe('definitionsIn', () => {
  it('hashes the canonical JSON of a definition', () => {
    // printf '{"description":"d","name":"a"}' | sha256sum
    const hash = 'sha256:4dd41c51f8f073fe16440f8bbe9497dfdfd96f8b317e8e61089a00ff40b3ccd0';
    expect(listed('[{"name":"a","description":"d"}]')).toMatchObject([{ name: 'a', hash }]);
  });

  it('gives the same hash for another order, and another one for any other content', () => {
    const [one] = listed('[{"name":"a","description":"d"}]');
    expect(listed('[{"description" : "d","name":"a"}]')[0]?.hash).toBe(one?.hash);
    for (const other of ['{"name":"a","description":"d."}', '{"name":"a","description":"d","_meta":{}}'])
      expect(listed(`[${other}]`)[0]?.hash).not.toBe(one?.hash);
  });

  it.each([
    ['a name twice', '[{"name":"a"},{"name":"a","description":"x"}]'],
    ['a member twice', '[{"name":"a","description":"x","description":"y"}]'],
    ['a tool without a name', '[{}]'],
    ['another value', '{}'],
    ['text that is not Unicode', '[{"name":"a","description":"\\ud800"}]'],
  ])('refuses a list with %s', (_, tools) => {
    expect(() => listed(tools)).toThrow();
  });

  it('refuses one tool more than the limit', () => {
    const many = (count: number): string =>
      JSON.stringify(Array.from({ length: count }, (_, at) => ({ name: `t${at}` })));
    expect(listed(many(limits.mcpTools))).toHaveLength(limits.mcpTools);
    expect(() => listed(many(limits.mcpTools + 1))).toThrow('at most');
  });

  it('accepts numbers of 64 bits, as schemas have them', () => {
    expect(listed('[{"name":"a","inputSchema":{"maximum":18446744073709551615}}]')).toHaveLength(1);
  });
});

describe('hintsOf', () => {
  it('returns the hints that are booleans', () => {
    expect(hintsOf({ annotations: { readOnlyHint: true, destructiveHint: 'no', title: 'x' } })).toEqual({
      readOnlyHint: true,
    });
    expect(hintsOf({})).toEqual({});
  });
});
