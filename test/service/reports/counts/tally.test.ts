/** One pass over records counts what a slow reader of the same records counts. */
import { describe, expect, it } from 'vitest';
import { draftEvent, draftLeaf, sealEvent } from '../../../../src/core/events/record.ts';
import { Tally } from '../../../../src/service/reports/counts/tally.ts';
import type { EventInput } from '../../../../src/contract/events.ts';

const baseMs = Date.parse('2026-03-01T00:00:00Z');
const salt = () => 'A'.repeat(22);

function recordOf(index: number, members: Partial<EventInput>, serverMs = baseMs + index * 1000): string {
  const input = {
    runId: 'r',
    eventType: 'tool.call',
    actor: { name: 'a', role: 'agent' },
    action: 'execute',
    timestamp: new Date(serverMs).toISOString(),
    ...members,
  } as EventInput;
  const draft = draftEvent(input, Date.parse(input.timestamp), salt);
  if ('code' in draft) throw new Error(draft.detail);
  const place = { index, serverMs, runSeq: runs.get(input.runId) ?? 0, random: index };
  runs.set(input.runId, place.runSeq + 1);
  return sealEvent(draft, place).record;
}
const runs = new Map<string, number>();

describe('the tally of a period', () => {
  it('counts events by type, run, system and day as a parser does', () => {
    runs.clear();
    const types = ['tool.call', 'agent.step', 'run.error'];
    const tally = new Tally();
    const records = Array.from({ length: 500 }, (_, n) =>
      recordOf(n, {
        runId: `run-${n % 7}`,
        eventType: types[n % 3] ?? '',
        ...(n % 2 === 0 ? { aiSystemId: `sys-${n % 4}` } : {}),
        ...(n % 5 === 0 ? { causedBy: ['evt_a', 'evt_b'] } : {}),
      }),
    );
    records.forEach((record, index) => tally.addRecord(index, record));
    const parsed = records.map((record) => JSON.parse(record) as Record<string, string>);
    const counted = (name: string) =>
      Object.fromEntries(
        [...new Set(parsed.map((each) => each[name]))].map((value) => [
          value,
          parsed.filter((each) => each[name] === value).length,
        ]),
      );
    expect(tally.events).toBe(500);
    expect(Object.fromEntries(tally.types)).toEqual(counted('eventType'));
    expect(Object.fromEntries([...tally.runs].map(([id, { events }]) => [id, events]))).toEqual(
      counted('runId'),
    );
    const systems = Object.entries(counted('aiSystemId')).filter(([name]) => name !== 'undefined');
    expect(Object.fromEntries([...tally.systems].map(([id, { events }]) => [id, events]))).toEqual(
      Object.fromEntries(systems),
    );
    expect(tally.runs.get('run-3')).toMatchObject({ begins: true, firstIndex: 3 });
  });

  it('reads a record in another spelling than ours', () => {
    runs.clear();
    const record = recordOf(0, { aiSystemId: 'sys' }).replace(
      '"type":"gov.event/1"}',
      '"text":"\\u00e9","type":"gov.event/1"}',
    );
    const sorted = record.replace(/"text":"\\u00e9",/, '').replace('"timestamp"', '"text":"é","timestamp"');
    const tally = new Tally();
    tally.addRecord(0, sorted);
    expect(tally).toMatchObject({ events: 1 });
    expect([...tally.systems.keys()]).toEqual(['sys']);
  });

  it('keeps the longest times without an entry, and those at the edges of the period', () => {
    runs.clear();
    const tally = new Tally();
    tally.addEdge(baseMs);
    tally.addRecord(0, recordOf(0, {}, baseMs + 60_000));
    for (let n = 1; n < 30; n++) tally.addRecord(n, recordOf(n, {}, baseMs + 60_000 + n));
    tally.addEdge(baseMs + 100_000);
    expect(tally.quiet).toHaveLength(10);
    expect(tally.quiet.slice(0, 2)).toEqual([
      { fromMs: baseMs, toMs: baseMs + 60_000 },
      { fromMs: baseMs + 60_029, toMs: baseMs + 100_000 },
    ]);
  });

  it('counts events whose own time is far from that of the log', () => {
    runs.clear();
    const tally = new Tally();
    tally.addRecord(0, recordOf(0, { timestamp: new Date(baseMs - 300_000).toISOString() }, baseMs));
    tally.addRecord(1, recordOf(1, { timestamp: new Date(baseMs - 300_001).toISOString() }, baseMs));
    expect(tally).toMatchObject({ skewed: 1, mostBehindMs: 300_001, mostAheadMs: 0 });
  });

  it('counts records that are not events by their type, and decisions by their outcome', () => {
    const tally = new Tally();
    const leaf = (type: 'gov.evaluation/1' | 'gov.approval/1', fields: Record<string, never>) =>
      draftLeaf(type, fields, {}).record;
    for (const id of ['apr_1', 'apr_2'])
      tally.addRecord(0, leaf('gov.evaluation/1', { combined: 'escalate', approval: { id } } as never));
    tally.addRecord(2, leaf('gov.approval/1', { id: 'apr_1', outcome: 'denied' } as never));
    expect([...tally.evaluations]).toEqual([['escalate', 2]]);
    expect([...tally.records]).toEqual([
      ['gov.evaluation/1', 2],
      ['gov.approval/1', 1],
    ]);
  });
});
