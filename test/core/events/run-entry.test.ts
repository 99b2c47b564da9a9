import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { eventId } from '../../../src/core/id.ts';
import { canonicalize, type Json } from '../../../src/core/json/parse.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import { readRecord, readRunEvent, recordDigests } from '../../../src/core/events/run-entry.ts';
import { RunIndex } from '../../../src/core/events/run-index.ts';
import { ProofLog, recordSampleRun } from '../proofs/log.ts';

const fields = {
  _sd: ['A'.repeat(43)],
  _sd_alg: 'sha-256',
  eventId: eventId(0, 1, 2),
  eventType: 'tool.call',
  runId: 'r',
  runSeq: 0,
  serverTimestamp: '2026-01-01T00:00:00.000Z',
  timestamp: '2026-01-01T00:00:00+02:00',
  type: 'gov.event/1',
};
const record = (change: Record<string, Json> = {}): string => canonicalize({ ...fields, ...change });

describe('readRecord', () => {
  it('readRecord returns the clear members of an event and its leaf hash', () => {
    const { eventId, eventType, runId, runSeq, serverTimestamp, timestamp } = fields;
    const clear = { eventId, eventType, runId, runSeq, serverTimestamp, timestamp, causedBy: [] };
    expect(readRecord(record())).toEqual(clear);
    expect(readRecord(record({ causedBy: ['a', 'b:1'], aiSystemId: 's' }))).toEqual({
      ...clear,
      causedBy: ['a', 'b:1'],
    });
    const hashed = record({ _sd_hash: 'B'.repeat(43), aiSystemId: 's' });
    expect(readRecord(hashed)).toEqual(clear);
    expect(recordDigests(hashed)).toEqual(fields._sd);
    const read = readRunEvent({ index: 3, record: record(), disclosures: null });
    expect(read).toEqual({ index: 3, record: record(), disclosures: null, hash: leafHash(record()), clear });
  });

  it('readRecord agrees with JSON.parse on every recorded event and on records with escapes', () => {
    const log = new ProofLog();
    const events = recordSampleRun(log).map((event) => event.record);
    for (const text of [
      ...events,
      record({ eventType: 'odd "kind"\n' }),
      record({ later: [1, { a: null }] }),
    ]) {
      const parsed = JSON.parse(text) as Record<string, unknown>;
      expect({ causedBy: [], ...parsed }).toMatchObject(readRecord(text)!);
    }
  });

  it('readRecord agrees with JSON.parse after any change of one character', () => {
    const text = record({ _sd_hash: 'B'.repeat(43), causedBy: ['a'], aiSystemId: 's' });
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.string({ minLength: 0, maxLength: 2 }), (at, put) => {
        const changed = text.slice(0, at) + put + text.slice(at + 1);
        const read = readRecord(changed);
        if (read === null) return;
        expect(canonicalize(JSON.parse(changed) as Json)).toBe(changed);
        expect(JSON.parse(changed)).toMatchObject(
          JSON.parse(
            JSON.stringify(read, (name, value) =>
              name === 'causedBy' && value.length === 0 ? undefined : value,
            ),
          ),
        );
      }),
      { numRuns: 3000, seed: 7 },
    );
  });

  it.each([
    ['another type', record({ type: 'gov.proof/1' })],
    ['a member missing', canonicalize({ type: 'gov.event/1' })],
    ['a member of another type', record({ runSeq: 'x' })],
    ['causes that are no list', record({ causedBy: 'a' })],
    ['causes that are no texts', record({ causedBy: [1] })],
    ['a number beyond 2^53', record().replace('"runSeq":0', '"runSeq":9007199254740993')],
    ['members out of order', record().replace('{"_sd"', '{"z":1,"_sd"')],
    ['a repeated member', record().replace('"runSeq":0', '"runSeq":0,"runSeq":0')],
    ['spaces', ` ${record()}`],
    ['escapes that are not canonical', record().replace('tool', '\\u0074ool')],
    ['no JSON', 'x'],
    ['a lone surrogate', record().replace('tool', '\ud800')],
  ])('readRecord returns null for %s', (_name, text) => {
    expect(readRecord(text)).toBeNull();
    expect(recordDigests(text)).toBeNull();
  });

  it(`readRecord reads at most ${limits.recordBytes} characters`, () => {
    const empty = record({ later: '' }).length;
    const sized = (length: number): string => record({ later: 'x'.repeat(length - empty) });
    expect(readRecord(sized(limits.recordBytes))).not.toBeNull();
    expect(readRecord(sized(limits.recordBytes + 1))).toBeNull();
  });

  it('recordDigests returns the digests of a record and refuses repeated ones', () => {
    const other = 'B'.repeat(43);
    expect(recordDigests(record({ _sd: [...fields._sd, other] }))).toEqual([...fields._sd, other]);
    expect(recordDigests(record({ _sd: [other, other] }))).toBeNull();
    expect(recordDigests(record({ _sd: ['short'] }))).toBeNull();
    expect(recordDigests(record({ _sd: 'x' }))).toBeNull();
  });
});

describe('the index of a run', () => {
  const ids = Array.from({ length: 300 }, (_, at) => eventId(1000 + at, 3 * at + 5, at));
  const index = new RunIndex({ hashes: true });
  for (const [at, id] of ids.entries()) index.add(3 * at + 5, id, leafHash(id));

  it('the index of a run finds events by their whole id only', () => {
    for (const [at, id] of ids.entries()) {
      expect(index.find(id)).toBe(at);
      expect(index.idAt(at)).toBe(id);
      expect(index.indexAt(at)).toBe(3 * at + 5);
      expect(index.hashAt(at)).toBe(`sha256:${leafHash(id).toString('hex')}`);
    }
    expect(index.find(eventId(1000, 5, 1))).toBe(-1);
    expect(index.find(eventId(1000, 6, 0))).toBe(-1);
    expect(index.find('run:1')).toBe(-1);
    expect([index.indexAt(300), index.idAt(300), index.hashAt(300)]).toEqual([-1, '', '']);
  });

  it('the index of a run counts the events below a leaf index', () => {
    expect([0, 5, 6, 8, 9, 1e9].map((below) => index.below(below))).toEqual([0, 0, 1, 1, 2, 300]);
    expect(index.bytes).toBeLessThan(300 * 2 * 71);
  });

  it('the index of a run finds nothing when indexes do not ascend or ids are foreign', () => {
    const odd = new RunIndex();
    odd.add(5, 'x');
    expect([odd.find('x'), odd.hashAt(0)]).toEqual([-1, '']);
    odd.add(5, ids[0]!);
    expect(odd.find(ids[0]!)).toBe(-1);
  });
});
