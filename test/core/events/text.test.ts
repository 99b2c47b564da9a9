/** Events put together from texts, against `openEvent`: the same values, or left to it. */
import { randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../src/contract/events.ts';
import { saltPool } from '../../../src/core/events/disclosure.ts';
import { csvRow } from '../../../src/core/csv.ts';
import { eventCells, eventRow, eventText } from '../../../src/core/events/text.ts';
import { parseJson, type Json } from '../../../src/core/json/parse.ts';
import { draftEvent, openEvent, sealEvent } from '../../../src/core/events/record.ts';
import { columnsOf } from '../../../src/service/exports/columns.ts';

const salt = saltPool(randomBytes);
const plain: EventInput = {
  runId: 'run-1',
  eventType: 'tool.call',
  actor: { name: 'agent', role: 'agent' },
  action: 'do',
  timestamp: '2026-01-01T00:00:00Z',
};

/** The leaf of an event, as it is stored. */
function leafOf(more: Partial<EventInput>) {
  const drafted = draftEvent({ ...plain, ...more }, 0, salt);
  if ('code' in drafted) throw new Error(drafted.detail);
  const { record, leaf } = sealEvent(drafted, {
    index: 7,
    runSeq: 3,
    serverMs: 1_767_225_600_000,
    random: 1,
  });
  return { record, disclosures: drafted.disclosures, leaf };
}

const textOf = ({ record, disclosures, leaf }: ReturnType<typeof leafOf>) =>
  eventText({ index: 7, record, disclosures, hash: leaf });

const anyJson = fc
  .jsonValue({ maxDepth: 3 })
  .filter((value) => {
    try {
      parseJson(Buffer.from(JSON.stringify(value)));
      return true;
    } catch {
      return false;
    }
  })
  .map((value) => value as Json);
const wordName = fc.stringMatching(/^[a-z_][\w.-]{0,12}$/);
const someObject = fc.dictionary(wordName, anyJson, { maxKeys: 8 });
const anyEvent = fc.record(
  {
    actor: fc.oneof(fc.string({ unit: 'grapheme' }), someObject),
    resource: fc.oneof(fc.string({ unit: 'grapheme' }), someObject),
    action: fc.string({ unit: 'grapheme', minLength: 1 }),
    metadata: someObject,
    causedBy: fc.array(fc.constantFrom('a', 'evt:1', 'x/y.z')),
    aiSystemId: fc.constantFrom('sys', 'a.b-c'),
    clientEventId: fc.string({ minLength: 1 }),
  },
  { requiredKeys: [] },
);

describe('an event as text', () => {
  it('an event as text has the members and values of the opened event', () => {
    fc.assert(
      fc.property(anyEvent, (more) => {
        const leaf = leafOf(more as Partial<EventInput>);
        const text = textOf(leaf);
        expect(text).not.toBeNull();
        const opened = openEvent(7, leaf.record, leaf.disclosures);
        const row = eventRow(text!);
        expect(JSON.parse(row)).toEqual(JSON.parse(JSON.stringify(opened)));
        expect(Object.keys(JSON.parse(row) as object)).toEqual(Object.keys(opened));
        expect(row).not.toMatch(/[\n\r]/);
        const record = leaf.record.replace(/"_sd_hash":"[^"]+",/, '');
        expect(record).not.toBe(leaf.record);
        expect(eventRow(textOf({ ...leaf, record })!)).toBe(row);
      }),
    );
  });

  const { names, numeric } = columnsOf('audit_events');
  function expectRecord(more: Partial<EventInput>): void {
    const leaf = leafOf(more);
    const opened = openEvent(7, leaf.record, leaf.disclosures) as unknown as Record<string, Json>;
    const values = names.map((name) => opened[name] ?? null);
    expect(csvRow(eventCells(textOf(leaf)!), numeric)).toBe(csvRow(values, numeric));
  }

  it('an event as text gives the same CSV as the values of the event', () => {
    fc.assert(fc.property(anyEvent, (more) => expectRecord(more as Partial<EventInput>)));
  });

  const hostile = fc
    .array(fc.constantFrom(...'=+-@\t\r\n＝\'",;|\\/\u00a0\u200b a1{[:'), { maxLength: 9 })
    .map((characters) => characters.join(''));
  it('an event as text gives the same CSV for values that a spreadsheet could misread', () => {
    const value = fc.oneof(hostile, fc.array(hostile), fc.dictionary(wordName, hostile));
    const more = fc.record({
      actor: fc.oneof(hostile, fc.dictionary(wordName, value)),
      resource: fc.oneof(hostile, fc.dictionary(wordName, value)),
      action: hostile,
      metadata: fc.dictionary(wordName, value),
      eventType: fc.constantFrom('-a', '.b', ':c', '/d', 'e'),
      runId: fc.constantFrom('-1', '/x', 'y', '1'),
      timestamp: fc.constantFrom('+2026-01-01T00:00:00Z', '-2026-01-01T00:00:00Z'),
      clientEventId: hostile,
    });
    fc.assert(fc.property(more, (each) => expectRecord(each as Partial<EventInput>)));
  });

  it('an event as text has numeric names in the order of JCS', () => {
    const row = eventRow(textOf(leafOf({ metadata: { outputs: { 327: true, 1000: false } } }))!);
    expect(row).toContain('"metadata":{"outputs":{"1000":false,"327":true}}');
  });

  it.each<[string, Partial<EventInput>]>([
    ['a name that is a number', { metadata: { 12: true } }],
    ['__proto__', { metadata: JSON.parse('{"__proto__":1}') as { [name: string]: unknown } }],
    ['an escaped name', { metadata: { 'a"b': 1 } }],
    ['a name with a slash', { metadata: { 'a/b': 1 } }],
    ['an empty name', { metadata: { '': 1 } }],
    ['a long name', { metadata: { ['n'.repeat(65)]: 1 } }],
    [
      'more fields than are compared',
      { metadata: Object.fromEntries(Array.from({ length: 63 }, (_, at) => [`n${at}`, at])) },
    ],
  ])('an event is not written as text when it has %s', (_what, more) => {
    expect(textOf(leafOf(more))).toBeNull();
  });

  it('an event as text may have as many fields as the limit for comparison', () => {
    const metadata = Object.fromEntries(Array.from({ length: 61 }, (_, at) => [`n${at}`, at]));
    expect(textOf(leafOf({ metadata }))).not.toBeNull();
  });

  it('an event is not written as text when a field is missing, repeated or spelled otherwise', () => {
    const leaf = leafOf({ metadata: { a: 1 }, resource: 'x' });
    const fields = JSON.parse(leaf.disclosures) as unknown[][];
    const others = [
      fields.slice(1),
      fields.map((field, at) => (at === 1 ? fields[0]! : field)),
      fields.map(([s, p, v]) => [s, p === '/resource' ? '/actor' : p, v]),
      fields.map(([s, p, v]) => [s, p === '/metadata/a' ? '/other/a' : p, v]),
      fields.map(([s, p, v]) => [s, p === '/action' ? '/metadata/action' : p, v]),
      fields.map(([s, p, v]) => [`${String(s)}A`, p, v]),
    ];
    for (const other of others) {
      expect(textOf({ ...leaf, disclosures: JSON.stringify(other) }), JSON.stringify(other)).toBeNull();
    }
    // what any log could commit to, though no recorder of ours did: the second would show `"boo"]` as its action
    const forged = [
      fields.map(([s, p, v]) => [s, p, p === '/action' ? null : v]),
      [...fields.slice(1), ['', '/metadata/b', ['zzzz', '/action', 'boo']]],
    ].map((other) => JSON.stringify(other));
    expect(forged[1]!.lastIndexOf('","/action') - forged[1]!.lastIndexOf('["","/metadata/b"')).toBe(24);
    for (const text of forged) expect(textOf({ ...leaf, disclosures: text }), text).toBeNull();
    for (const text of ['', '[]', 'null', `${leaf.disclosures} `, `[${leaf.disclosures}]`]) {
      expect(textOf({ ...leaf, disclosures: text })).toBeNull();
    }
    for (const record of ['', '{}', leaf.record.replace('"type"', '"typo"'), `${leaf.record} `]) {
      expect(textOf({ ...leaf, record })).toBeNull();
    }
  });
});
