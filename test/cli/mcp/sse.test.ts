import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineTooLong } from '../../../src/cli/mcp/lines.ts';
import { dataOf, EventSplitter, withData } from '../../../src/cli/mcp/sse.ts';
import { limits } from '../../../src/contract/limits.ts';

const split = (...parts: string[]): string[] => {
  const splitter = new EventSplitter();
  const events = parts.flatMap((part) => splitter.push(Buffer.from(part)));
  return [...events.map(String), String(splitter.rest())];
};

describe('EventSplitter', () => {
  it('cuts after the blank line, with LF, CRLF or CR', () => {
    expect(split('data: 1\n\ndata: 2\r\n\r\n: ping\r\rdata: 3\n')).toEqual([
      'data: 1\n\n',
      'data: 2\r\n\r\n',
      ': ping\r\r',
      'data: 3\n',
    ]);
  });

  it('loses no byte and finds the same data, wherever the chunks end', () => {
    const stream = 'id: 1\r\ndata: {"a":\r\ndata: 1}\r\n\r\ndata: 2\n\n: x\n\nevent: m\rdata: 3\r\r';
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 6 }), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), stream.length];
        const parts = split(...at.slice(1).map((end, index) => stream.slice(at[index], end)));
        expect(parts.join('')).toBe(stream);
        expect(parts.map((part) => dataOf(Buffer.from(part))).filter(Boolean)).toEqual([
          '{"a":\n1}',
          '2',
          '3',
        ]);
      }),
    );
  });

  it('refuses an event of one byte more than the limit', () => {
    const most = Buffer.alloc(limits.mcpMessageBytes - 2, 'x');
    const splitter = new EventSplitter();
    splitter.push(most);
    expect(splitter.push(Buffer.from('\n\n'))).toHaveLength(1);
    splitter.push(most);
    expect(() => splitter.push(Buffer.from('x\n\n'))).toThrow(LineTooLong);
  });
});

describe('withData', () => {
  it('replaces the data and keeps id and type', () => {
    expect(withData(Buffer.from('id: 7\nevent: message\ndata: a\ndata: b\n\n'), 'c')).toBe(
      'id: 7\nevent: message\ndata: c\n\n',
    );
  });
});
