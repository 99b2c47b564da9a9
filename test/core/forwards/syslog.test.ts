import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cefLine } from '../../../src/core/forwards/cef.ts';
import { plainObject } from '../../../src/core/forwards/json.ts';
import type { ForwardRecord } from '../../../src/core/forwards/record.ts';
import {
  octetCounted,
  sentence,
  structuredFields,
  syslogMessage,
} from '../../../src/core/forwards/syslog.ts';
import { visibleJson } from '../../../src/core/visible.ts';
import { clip } from '../../../src/core/forwards/text.ts';
import { forgedCef, hostile, hostileRecord, kinds, actsOnReader } from './samples.ts';

const options = { hostname: 'plane-1', facility: 13, maxBytes: 8192, msg: 'sentence' } as const;

/** A reader after the grammar of RFC 5424 §6. */
const grammar =
  /^<(\d{1,3})>1 (\d{4}-\d\d-\d\dT[\d:.]+Z) ([!-~]{1,255}) ([!-~]{1,48}) ([!-~]{1,128}) ([!-~]{1,32}) \[([^ \]"=]{1,32})((?: [^ \]"=]{1,32}="(?:[^"\\\]]|\\["\\\]])*")+)\](?: (.*))?$/s;

function readSyslog(message: string): { priority: number; data: Record<string, string>; text: string } {
  const [, priority, , , , , , id, pairs = '', text = ''] = grammar.exec(message) ?? [];
  expect(id, message).toBe('gov@32473');
  const data = [...pairs.matchAll(/ ([^=]+)="((?:[^"\\\]]|\\.)*)"/gs)].map(([, name, value]) => [
    name!,
    value!.replace(/\\(["\\\]])/g, '$1'),
  ]);
  return { priority: Number(priority), data: Object.fromEntries(data), text };
}

const isWhole = (record: ForwardRecord): void => {
  const message = syslogMessage(record, sentence(record), options);
  expect(message).not.toMatch(actsOnReader);
  const { data } = readSyslog(message);
  expect(Object.keys(data).filter((name) => name !== 'truncated')).toEqual(
    structuredFields(record, 'sentence').map(([name]) => name),
  );
  expect(data).toMatchObject({ leafHash: record.leafHash, index: String(record.index), id: record.id });
};

describe('syslogMessage', () => {
  it('keeps to the smallest limit, whatever names an agent chooses', () => {
    const name = ']'.repeat(1000);
    const named = { actor: { id: name, name, type: null }, action: name, aiSystemId: name };
    const record = { ...kinds()[0]!, ...named, resource: { id: name, name, type: null } };
    const message = syslogMessage(record, name, { ...options, maxBytes: 2048 });
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(2048);
    const { data } = readSyslog(message);
    expect(data).toMatchObject({ leafHash: record.leafHash, id: record.id, truncated: '1' });
    expect(data['actor']).toBe(']'.repeat(48));
  });

  it('writes a known message', () => {
    const [event] = kinds();
    expect(syslogMessage(event!, 'text', options)).toBe(
      '<110>1 2026-03-01T09:30:00.000Z plane-1 gov - tool.call [gov@32473 ' +
        'project="prj_01jq3v5k8hf7wb3c9x2m4n6p8r" origin="example.com/log/audit" index="7" ' +
        `leafHash="${event!.leafHash}" leafType="gov.event/1" id="${event!.id}" eventType="tool.call" run="run-1" ` +
        'seq="3" actor="billing-agent" actorId="agt-9" action="read" resource="ledger" system="sys-1" ' +
        'loggedAt="2026-03-01T09:30:01.000Z"] text',
    );
  });

  it('each kind of record follows the grammar of RFC 5424', () => {
    for (const record of kinds()) isWhole(record);
  });

  it('before a record for a parser stands only what gov made, and the record is whole', () => {
    const place = ['project', 'origin', 'index', 'leafHash', 'leafType', 'id'];
    const ofEvent = { eventType: 'CEF:0/gov/gov', runId: 'CEF:0|gov|1', aiSystemId: 'CEF:0|gov|2' };
    const records = [...hostile.map(hostileRecord), { ...hostileRecord(forgedCef), ...ofEvent }, ...kinds()];
    for (const record of records) {
      for (const text of [cefLine(record, '0.1.0'), visibleJson(plainObject(record))]) {
        const message = syslogMessage(record, text, { ...options, maxBytes: 65_536, msg: 'record' });
        const { data, text: found } = readSyslog(message);
        expect(found).toBe(text);
        expect(Object.keys(data)).toEqual(place);
        const before = message.slice(0, -text.length);
        expect(before).toContain(` gov - ${record.leafType} [`);
        expect(before).not.toMatch(/CEF|forged|[|{]/);
      }
    }
  });

  it('hostile text in every field ends no value, element or line', () => {
    for (const text of hostile) isWhole(hostileRecord(text));
  });

  it('any text in every field ends no value, element or line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (text) => {
        fc.pre(text.isWellFormed() && text !== '');
        isWhole(hostileRecord(text));
      }),
      { numRuns: 200 },
    );
  });

  it('a message of the most bytes is whole, and one byte more is cut and says so', () => {
    const [event] = kinds();
    const bytes = Buffer.byteLength(syslogMessage(event!, '', { ...options, maxBytes: 65_536 }));
    const fits = syslogMessage(event!, 'é'.repeat(100), { ...options, maxBytes: bytes + 200 });
    expect(readSyslog(fits).data['truncated']).toBeUndefined();
    const cut = syslogMessage(event!, `${'é'.repeat(100)}x`, { ...options, maxBytes: bytes + 200 });
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(bytes + 200);
    expect(readSyslog(cut)).toMatchObject({ data: { truncated: '1' }, text: expect.stringMatching(/^é+$/) });
  });

  it('a refusal is a warning or worse, an escalation a notice, and all else informational', () => {
    const said = kinds().map((record) => readSyslog(syslogMessage(record, 'x', options)).priority % 8);
    expect(said).toEqual([6, 6, 5, 2, 6, 4, 4]);
  });
});

describe('octetCounted', () => {
  it('counts bytes, not characters', () => {
    expect(octetCounted('é☃').toString()).toBe('5 é☃');
  });
});

describe('clip', () => {
  it('ends between two characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, most) => {
        fc.pre(text.isWellFormed());
        const cut = clip(text, most);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(most);
        expect(text.startsWith(cut)).toBe(true);
      }),
    );
  });
});
