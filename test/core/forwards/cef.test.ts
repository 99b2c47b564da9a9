import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cefFields, cefLine } from '../../../src/core/forwards/cef.ts';
import type { ForwardRecord } from '../../../src/core/forwards/record.ts';
import { hostile, hostileRecord, kinds, actsOnReader } from './samples.ts';

/** A reader of CEF, after its specification: splits at pipes and at keys, both unescaped, and undoes the escapes. */
function readCef(line: string): { head: string[]; pairs: Record<string, string> } {
  const [, start = ''] = /^((?:(?:[^\\|]|\\.)*\|){7})/s.exec(line) ?? [];
  const head = start
    .split(/(?<!\\)(?:\\\\)*\|/)
    .slice(0, 7)
    .map((each) => each.replace(/\\(.)/gs, '$1'));
  const rest = line.slice(start.length);
  const keys = [...rest.matchAll(/(?:^| )([A-Za-z0-9]+)=/g)].filter(({ index }) => {
    const before = rest.slice(0, index);
    return !/(?:^|[^\\])(?:\\\\)*\\$/.test(before);
  });
  const pairs = keys.map(({ 0: whole, 1: key, index }, at) => {
    const value = rest.slice(index + whole.length, keys[at + 1]?.index ?? rest.length);
    return [key!, value.replace(/\\(.)/gs, (_, c: string) => (c === 'n' ? '\n' : c === 'r' ? '\r' : c))];
  });
  return { head, pairs: Object.fromEntries(pairs) };
}

const inOneLine = (record: ForwardRecord): void => {
  const line = cefLine(record, '0.1.0');
  expect(line).not.toMatch(actsOnReader);
  const { head, pairs } = readCef(line);
  expect(head).toHaveLength(7);
  expect(head.slice(0, 3)).toEqual(['CEF:0', 'gov', 'gov']);
  expect(Number(head[6])).toBeLessThanOrEqual(10);
  // exactly our keys, so that no value forged one
  expect(Object.keys(pairs)).toEqual(cefFields(record).map(([key]) => key));
  expect(pairs).toMatchObject({ cs3: record.leafHash, cn1: String(record.index), cs2: record.source.origin });
};

describe('cefLine', () => {
  it('writes a known line', () => {
    const [event] = kinds();
    expect(cefLine(event!, '0.1.0')).toBe(
      `CEF:0|gov|gov|0.1.0|tool.call|tool.call read|2|rt=1772357401000 start=1772357400000 externalId=${event!.id} ` +
        'cat=tool.call act=read suid=agt-9 suser=billing-agent duid=res-1 destinationServiceName=ledger ' +
        'cs1Label=projectId cs1=prj_01jq3v5k8hf7wb3c9x2m4n6p8r cs2Label=logOrigin cs2=example.com/log/audit ' +
        `cs3Label=leafHash cs3=${event!.leafHash} cs4Label=runId cs4=run-1 cs6Label=aiSystemId cs6=sys-1 ` +
        'cn1Label=leafIndex cn1=7 cn2Label=runSeq cn2=3 flexString1Label=leafType flexString1=gov.event/1 ' +
        'msg={"amount":12,"model":"opus-9","provider":"anthropic"}',
    );
  });

  it('escapes pipe and backslash in the header, equals sign and backslash in the extension', () => {
    const [event] = kinds();
    const line = cefLine({ ...event!, eventType: 'a|b\\c=d', reason: 'x=y\\z|w\nnext' }, '1');
    expect(line).toContain('|a\\|b\\\\c=d|');
    expect(line).toContain(' reason=x\\=y\\\\z|w\\nnext ');
  });

  it('each kind of record has one line with all its keys', () => {
    for (const record of kinds()) inOneLine(record);
  });

  it('hostile text in every field forges no key, header or line', () => {
    for (const text of hostile) inOneLine(hostileRecord(text));
  });

  it('any text in every field forges no key, header or line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (text) => {
        fc.pre(text.isWellFormed() && text !== '');
        inOneLine(hostileRecord(text));
      }),
      { numRuns: 200 },
    );
  });

  it('a denial of a critical policy has severity 10, an event 2', () => {
    expect(kinds().map((record) => readCef(cefLine(record, '1')).head[6])).toEqual([
      '2',
      '2',
      '5',
      '10',
      '2',
      '7',
      '7',
    ]);
  });
});
