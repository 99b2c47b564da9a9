/** Which columns of a run an event proves. */
import { describe, expect, it } from 'vitest';
import type { EventRecord } from '../../../src/core/events/record.ts';
import { runFault, UnnamedSystems } from '../../../src/store/fsck/log/run-rows.ts';

const at = '2026-03-01T12:00:00.000Z';
const event = (aiSystemId?: string): EventRecord => ({
  type: 'gov.event/1',
  eventId: 'evt_1',
  runId: 'r1',
  runSeq: 0,
  eventType: 'tool.call',
  timestamp: at,
  serverTimestamp: at,
  _sd: [],
  ...(aiSystemId === undefined ? {} : { aiSystemId }),
});
const row = { first_index: 5, last_index: 9, last_server_ms: Date.parse(at), ai_system_id: 'system-1' };

describe('runFault', () => {
  it('accepts a run whose events prove its columns', () => {
    expect(runFault(event('system-1'), 5, row)).toBeNull();
    expect(runFault(event('system-2'), 7, row)).toBeNull();
    expect(runFault(event(), 9, row)).toBeNull();
  });

  it('reports another AI system than that of the first event', () => {
    expect(runFault(event('system-2'), 5, row)).toEqual({
      expected: 'ai_system_id system-2',
      got: 'ai_system_id system-1',
    });
  });

  it('reports a run without a system once, at the first event that names one, also where events may be pruned', () => {
    const lacking = { ...row, ai_system_id: null };
    for (const isPruned of [false, true]) {
      const unnamed = new UnnamedSystems();
      const fault = (idx: number, system?: string) =>
        runFault(event(system), idx, lacking, unnamed.visit(event(system), idx, lacking, isPruned));
      expect([fault(6), fault(7, 'system-1'), fault(8, 'system-2')]).toEqual([
        null,
        { expected: 'ai_system_id system-1', got: 'ai_system_id null' },
        null,
      ]);
    }
  });

  it('compares the server time with that of the newest event only', () => {
    const late = { ...row, last_server_ms: row.last_server_ms + 1 };
    expect(runFault(event(), 8, late)).toBeNull();
    expect(runFault(event(), 9, late)).toEqual({
      expected: `last_server_ms ${row.last_server_ms}`,
      got: `last_server_ms ${late.last_server_ms}`,
    });
  });

  it('reports another system than that of the first event that names one', () => {
    const unnamed = new UnnamedSystems();
    const fault = (idx: number, system?: string) =>
      runFault(event(system), idx, row, unnamed.visit(event(system), idx, row));
    expect([fault(5), fault(6), fault(7, 'system-2'), fault(8, 'system-3')]).toEqual([
      null,
      null,
      { expected: 'ai_system_id system-2', got: 'ai_system_id system-1' },
      null,
    ]);
  });

  it('reports a system that no event names, once all events were read', () => {
    const unnamed = new UnnamedSystems();
    for (const idx of [5, 9]) unnamed.visit(event(), idx, row);
    expect([...unnamed.rest(9)]).toEqual([]);
    expect([...unnamed.rest(10)]).toEqual([{ runId: 'r1', system: 'system-1' }]);
    unnamed.visit(event('system-1'), 9, row);
    expect([...unnamed.rest(10)]).toEqual([]);
  });

  it('ignores columns that a database of an older release lacks', () => {
    expect(runFault(event('system-1'), 9, { first_index: 5, last_index: 9 })).toBeNull();
  });
});
