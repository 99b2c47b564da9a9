import { describe, expect, it } from 'vitest';
import {
  keyOfText,
  mapFunction,
  placeItem,
  readMapped,
  textItem,
  type MappedRecord,
} from '../../../src/core/completeness/map-function.ts';
import { draftLeaf } from '../../../src/core/events/record.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import { ProofLog } from '../proofs/log.ts';

const keysOf = ({ items }: MappedRecord) => items.map(({ text, item }) => ({ key: keyOfText(text), item }));

describe('the map function', () => {
  it('the map function has the name that each index leaf carries', () => {
    expect(mapFunction).toBe('gov.mapfn/2');
  });

  it('the map function lists an event as leaf of its run, and with both times under its type and client day', () => {
    const log = new ProofLog();
    const { record } = log.record({
      runId: 'r',
      eventType: 'tool.call',
      timestamp: '2026-01-05T23:30:00.5-01:00',
    });
    const mapped = readMapped(record);
    expect(mapped).toMatchObject({ ms: Date.UTC(2026, 0, 5, 9, 0, 1) + 7 });
    expect(mapped.event).toEqual({ runSeq: 0, clientMs: Date.UTC(2026, 0, 6, 0, 30, 0, 500) });
    expect(keysOf(mapped)).toEqual([
      { key: ['run', 'r'], item: 'leaf' },
      { key: ['type', 'tool.call'], item: 'event' },
      { key: ['day', '2026-01-06'], item: 'event' },
    ]);
    expect(keysOf(readMapped(record, 'gov.mapfn/1'))).toEqual([
      { key: ['run', 'r'], item: 'leaf' },
      { key: ['type', 'tool.call'], item: 'place' },
    ]);
  });

  it('the map function lists other records under their type and under their run', () => {
    const policy = readMapped(draftLeaf('gov.policy/1', { policyId: 'p' }).record);
    expect([policy.ms, policy.event]).toEqual([null, null]);
    expect(keysOf(policy)).toEqual([{ key: ['leaf', 'gov.policy/1'], item: 'place' }]);
    const evaluation = readMapped(draftLeaf('gov.evaluation/1', { id: 'e' }, { runId: 'r' }).record);
    expect(keysOf(evaluation)).toEqual([
      { key: ['leaf', 'gov.evaluation/1'], item: 'place' },
      { key: ['of', 'gov.evaluation/1', 'r'], item: 'leaf' },
    ]);
  });

  it('the map function gives no key for a text that is not a record, and never throws', () => {
    const texts = ['', '[]', 'null', '{', '{"type":1}', '{"type":"gov.event/1"}', 'x"type":"gov.event/1"}'];
    for (const text of texts) expect(keysOf(readMapped(text))).toEqual([]);
  });

  it('the map function hashes list items like leaves of a log', () => {
    expect(placeItem(12, 34)).toBe(leafHash('12 34').toString('latin1'));
    expect(placeItem(12, 34, 56)).toBe(leafHash('12 34 56').toString('latin1'));
    expect(textItem('tool.call')).toBe(leafHash('tool.call').toString('latin1'));
  });
});
