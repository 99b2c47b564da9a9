import { describe, expect, it } from 'vitest';
import {
  keyOfText,
  mapFunction,
  nameItem,
  placeItem,
  readMapped,
  type MappedRecord,
} from '../../../src/core/completeness/map-function.ts';
import { draftLeaf } from '../../../src/core/event/record.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import { ProofLog } from '../proof/log.ts';

const keysOf = ({ items }: MappedRecord) => items.map(({ text, item }) => ({ key: keyOfText(text), item }));

describe('the map function', () => {
  it('has a name that each index leaf carries', () => {
    expect(mapFunction).toBe('gov.mapfn/1');
  });

  it('gives an event to its run as a leaf and to its type as a place, at its server time', () => {
    const log = new ProofLog();
    const { record } = log.record({ runId: 'r', eventType: 'tool.call' });
    const mapped = readMapped(record);
    expect(mapped).toMatchObject({ ms: Date.UTC(2026, 0, 5, 9, 0, 1) + 7 });
    expect(mapped.event).toEqual({ runSeq: 0, eventType: 'tool.call' });
    expect(keysOf(mapped)).toEqual([
      { key: ['run', 'r'], item: 'leaf' },
      { key: ['type', 'tool.call'], item: 'place' },
    ]);
  });

  it('gives another record to its type, and to the run that it is about', () => {
    const policy = readMapped(draftLeaf('gov.policy/1', { policyId: 'p' }).record);
    expect([policy.ms, policy.event]).toEqual([null, null]);
    expect(keysOf(policy)).toEqual([{ key: ['leaf', 'gov.policy/1'], item: 'place' }]);
    const evaluation = readMapped(draftLeaf('gov.evaluation/1', { id: 'e' }, { runId: 'r' }).record);
    expect(keysOf(evaluation)).toEqual([
      { key: ['leaf', 'gov.evaluation/1'], item: 'place' },
      { key: ['of', 'gov.evaluation/1', 'r'], item: 'leaf' },
    ]);
  });

  it('gives nothing for a text that is not a record, and never throws', () => {
    const texts = ['', '[]', 'null', '{', '{"type":1}', '{"type":"gov.event/1"}', 'x"type":"gov.event/1"}'];
    for (const text of texts) expect(keysOf(readMapped(text))).toEqual([]);
  });

  it('hashes items like leaves of a log', () => {
    expect(placeItem(12, 34)).toBe(leafHash('12 34').toString('latin1'));
    expect(nameItem('tool.call')).toBe(leafHash('tool.call').toString('latin1'));
  });
});
