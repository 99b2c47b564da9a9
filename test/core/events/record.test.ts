/** Leaf records: a known answer, round trips, sizes at the limit and beyond, hostile names. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../src/contract/events.ts';
import { limits } from '../../../src/contract/limits.ts';
import { disclosuresMatch, isCommittedText } from '../../../src/core/events/bodies.ts';
import { saltPool } from '../../../src/core/events/disclosure.ts';
import { eventIndex } from '../../../src/core/id.ts';
import { canonicalize, parseJson, type Json } from '../../../src/core/json/parse.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import {
  draftEvent,
  draftLeaf,
  openEvent,
  rebuild,
  sealEvent,
  type EventDraft,
  type Refusal,
} from '../../../src/core/events/record.ts';
import { data, hasData } from '../../paths.ts';

const salt = saltPool(randomBytes);
const place = { index: 5, runSeq: 2, serverMs: Date.UTC(2026, 0, 1), random: 0x155_5555 };

const input = (more: Partial<EventInput> = {}): EventInput => ({
  runId: 'run-1',
  eventType: 'tool.call',
  actor: 'agent',
  action: 'execute',
  timestamp: '2026-01-01T00:00:00+02:00',
  ...more,
});

function draft(event: EventInput): EventDraft {
  const made = draftEvent(event, Date.parse(event.timestamp), salt);
  if ('code' in made) throw new Error(made.detail);
  return made;
}
const refusal = (event: EventInput): Refusal | null => {
  const made = draftEvent(event, 0, salt);
  return 'code' in made ? made : null;
};

/** An object as it comes out of the parser, null where it is outside our profile of JSON. */
function parsed(value: object): Record<string, Json> | null {
  try {
    return parseJson(Buffer.from(JSON.stringify(value))) as Record<string, Json>;
  } catch {
    return null;
  }
}

/** What a client gets back of what it sent. */
function roundTrip(event: EventInput): Record<string, unknown> {
  const drafted = draft(event);
  const { record } = sealEvent(drafted, place);
  return openEvent(place.index, record, drafted.disclosures);
}

describe('an event record', () => {
  it('an event record has exactly this text, and its leaf is the RFC 6962 leaf', () => {
    const drafted = draftEvent(
      input({ causedBy: ['c'], aiSystemId: 's' }),
      0,
      () => 'AAAAAAAAAAAAAAAAAAAAAA',
    );
    if ('code' in drafted) throw new Error(drafted.detail);
    const { eventId, record, leaf } = sealEvent(drafted, place);
    // the digests by `base64 | tr '+/' '-_' | tr -d = | openssl dgst -sha256`
    expect(drafted.disclosures).toBe(
      '[["AAAAAAAAAAAAAAAAAAAAAA","/action","execute"],["AAAAAAAAAAAAAAAAAAAAAA","/actor","agent"]]',
    );
    expect(record).toBe(
      '{"_sd":["2NBCtOOUjCMfpXcTqeTI65F12IUdCDn_1_rLHJiGUW4","tMZMEyGipv1AiF95Zju3a1HRaHxTKRLngevAlwMq2Oo"],' +
        // the disclosures by `openssl dgst -sha256 -binary | base64 | tr '+/' '-_' | tr -d =`
        '"_sd_alg":"sha-256","_sd_hash":"nudMdi3wAFcOuHpCTHPQWEfhC_PkVg1lRVFcVXVG-3c","aiSystemId":"s","causedBy":["c"],' +
        `"eventId":"${eventId}","eventType":"tool.call","runId":"run-1","runSeq":2,` +
        '"serverTimestamp":"2026-01-01T00:00:00.000Z","timestamp":"2026-01-01T00:00:00+02:00","type":"gov.event/1"}',
    );
    expect(leaf).toEqual(leafHash(record));
    expect(eventIndex(eventId)).toBe(5);
  });

  it('an event record is canonical JSON for any event', () => {
    const metadata = fc
      .dictionary(fc.string({ minLength: 1, unit: 'grapheme' }), fc.jsonValue({ maxDepth: 2 }), {
        maxKeys: 12,
      })
      .map(parsed)
      .filter((value) => value !== null);
    fc.assert(
      fc.property(metadata, fc.option(fc.constantFrom('s.1', 'S:2')), (given, aiSystemId) => {
        const event = input({ metadata: given, ...(aiSystemId === null ? {} : { aiSystemId }) });
        const drafted = draft(event);
        const { record } = sealEvent(drafted, place);
        expect(canonicalize(JSON.parse(record) as Json)).toBe(record);
        expect(disclosuresMatch(record, drafted.disclosures)).toBe(true);
        expect(isCommittedText(record, drafted.disclosures)).toBe(true);
        expect(canonicalize(roundTrip(event)['metadata'] as Json)).toBe(canonicalize(given as Json));
      }),
    );
  });

  it('an event record opens as the sent event, with null for missing members', () => {
    const event = input({
      actor: { name: 'a', role: 'agent', ...({ 'x/y~z': { deep: [1] } } as object) },
      resource: { type: 'tool', name: 't' },
      metadata: { text: 'ü\u2028', nothing: null, list: [], object: {} },
      clientEventId: 'c-1',
      causedBy: [],
    });
    expect(roundTrip(event)).toMatchObject({ ...event, aiSystemId: null, sequence: 5 });
    expect(roundTrip(input())).toMatchObject({
      actor: 'agent',
      resource: null,
      metadata: {},
      causedBy: null,
      clientEventId: null,
    });
  });

  it('an event record keeps names such as __proto__ as data', () => {
    const text = '{"__proto__":{"polluted":true},"constructor":1,"toString":2}';
    const metadata = parseJson(Buffer.from(text)) as Record<string, Json>;
    const opened = roundTrip(input({ metadata }));
    expect(canonicalize(opened['metadata'] as Json)).toBe(canonicalize(metadata));
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('an event record shows ids, types and times in clear, and nothing else', () => {
    const secret = 'do not show';
    const event = input({
      action: secret,
      actor: { name: secret },
      metadata: { [secret]: secret },
      resource: secret,
    });
    const { record } = sealEvent(draft(event), place);
    expect(record).not.toContain(secret);
    expect(Object.keys(JSON.parse(record) as object)).toEqual([
      '_sd',
      '_sd_alg',
      '_sd_hash',
      'eventId',
      'eventType',
      'runId',
      'runSeq',
      'serverTimestamp',
      'timestamp',
      'type',
    ]);
  });

  it('an event record has the server time of its own request, even after a later time', () => {
    const times = [1000, 2000, 1000].map((serverMs) => {
      const { record } = sealEvent(draft(input()), { ...place, serverMs });
      return (JSON.parse(record) as { serverTimestamp: string }).serverTimestamp;
    });
    expect(times).toEqual([1000, 2000, 1000].map((ms) => new Date(ms).toISOString()));
  });
});

/** A text whose canonical form, with everything around it, has just so many bytes. */
const fill = (bytes: number, around: Json): string => 'x'.repeat(bytes - canonicalize(around).length);

describe('size limits', () => {
  it('the size limit of actor and resource is 4 KiB of canonical bytes', () => {
    for (const name of ['actor', 'resource'] as const) {
      const text = fill(limits.partyBytes, { note: '' });
      expect(refusal(input({ [name]: { note: text } }))).toBeNull();
      expect(refusal(input({ [name]: { note: `${text}x` } }))).toEqual({
        code: 'event_too_large',
        pointer: `/${name}`,
        detail: `expected at most ${limits.partyBytes} canonical bytes, got ${limits.partyBytes + 1}`,
      });
    }
  });

  it('the size of an event is counted in bytes, not in characters', () => {
    const text = 'ü'.repeat(limits.partyBytes / 2 - 6);
    expect(Buffer.byteLength(canonicalize({ note: text }))).toBe(limits.partyBytes - 1);
    expect(refusal(input({ actor: { note: text } }))).toBeNull();
    expect(refusal(input({ actor: { note: `${text}ü` } }))?.pointer).toBe('/actor');
  });

  it('the size limit of metadata is 256 KiB, in one value or in many', () => {
    const text = fill(limits.metadataBytes, { a: '' });
    expect(refusal(input({ metadata: { a: text } }))).toBeNull();
    expect(refusal(input({ metadata: { a: `${text}x` } }))?.pointer).toBe('/metadata');
    const keys = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`k${at}`, 'y'.repeat(2600)]));
    const rest = fill(limits.metadataBytes, { ...keys, z: '' });
    expect(refusal(input({ metadata: { ...keys, z: rest } }))).toBeNull();
    expect(refusal(input({ metadata: { ...keys, z: `${rest}x` } }))?.pointer).toBe('/metadata');
  });

  it('the largest record is far below the limit of a log entry', () => {
    const many = (count: number, prefix: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, '']));
    const event = input({
      actor: many(limits.partyMembers, 'a'),
      resource: many(limits.partyMembers, 'r'),
      metadata: many(limits.metadataKeys, 'm'),
      causedBy: Array.from({ length: limits.causedBy }, () => 'c'.repeat(128)),
      runId: 'r'.repeat(128),
      eventType: 't'.repeat(128),
      clientEventId: 'e'.repeat(128),
    });
    const { record } = sealEvent(draft(event), place);
    expect(record.length).toBeLessThan(limits.recordBytes / 2);
  });
});

describe('other leaves', () => {
  it('other leaves are canonical JSON with their run and their committed fields', () => {
    const made = draftLeaf(
      'gov.key/1',
      { vkey: 'k', add: true },
      { runId: 'r', committed: [['/reason', 'why']], salt },
    );
    expect(made).toMatchObject({ kind: 'other', type: 'gov.key/1', runId: 'r' });
    expect(canonicalize(JSON.parse(made.record) as Json)).toBe(made.record);
    expect(made.record).not.toContain('why');
    expect(made.disclosures).toContain('"/reason","why"');
  });

  it('other leaves have no disclosures when they commit to nothing', () => {
    expect(draftLeaf('gov.genesis/1', { a: 1 })).toEqual({
      kind: 'other',
      type: 'gov.genesis/1',
      runId: null,
      id: null,
      record: '{"_sd":[],"_sd_alg":"sha-256","a":1,"type":"gov.genesis/1"}',
      disclosures: null,
    });
  });

  it('other leaves have at most the size of a log entry', () => {
    const bytes = (more: number) =>
      fill(limits.recordBytes + more, JSON.parse(draftLeaf('gov.key/1', { v: '' }).record) as Json);
    expect(draftLeaf('gov.key/1', { v: bytes(0) }).record).toHaveLength(limits.recordBytes);
    expect(() => draftLeaf('gov.key/1', { v: bytes(1) })).toThrow('65535 bytes');
    const fields = (count: number) => Array.from({ length: count }, (_, at) => [`/${at}`, at] as const);
    expect(() =>
      draftLeaf('gov.key/1', {}, { committed: fields(limits.committedFields), salt }),
    ).not.toThrow();
    expect(() => draftLeaf('gov.key/1', {}, { committed: fields(limits.committedFields + 1), salt })).toThrow(
      '256 fields',
    );
    expect(() => draftLeaf('gov.key/1', {}, { committed: fields(1) })).toThrow('needs a salt');
  });
});

describe('rebuild', () => {
  it('rebuild restores members and members of members, with unescaped names', () => {
    const parts = rebuild([
      ['s', '/action', 'go'],
      ['s', '/metadata/a~1b', 1],
      ['s', '/metadata/a~0b', 2],
      ['s', '/metadata/a~01b', 3],
    ]);
    expect(parts.get('action')).toBe('go');
    expect({ ...(parts.get('metadata') as object) }).toEqual({ 'a/b': 1, 'a~b': 2, 'a~1b': 3 });
  });
});

describe.skipIf(!hasData)('recorded runs (skipped where GOV_DATA is absent)', () => {
  it('1,000 messages of recorded runs open as they were sent', () => {
    const runs = JSON.parse(readFileSync(data('tau-bench/gpt-4o-airline.json'), 'utf8')) as {
      task_id: number;
      traj: { role: string; content: string | null; tool_calls?: Json }[];
    }[];
    const messages = runs.flatMap(({ traj }) => traj).slice(0, 1000);
    for (const [at, { role, content, tool_calls: calls = null }] of messages.entries()) {
      const metadata = { content, calls, at };
      const event = input({ actor: { name: role }, metadata, clientEventId: `c:${at}` });
      const opened = roundTrip(event);
      expect(canonicalize(opened['metadata'] as Json)).toBe(canonicalize(metadata));
      expect(opened['clientEventId']).toBe(`c:${at}`);
    }
  });
});
