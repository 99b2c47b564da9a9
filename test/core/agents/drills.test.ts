import { describe, expect, it } from 'vitest';
import { drillReasons, drillStates, readDrill, type DrillResult } from '../../../src/core/agents/drills.ts';

const hourMs = 3_600_000;
const startMs = Date.parse('2026-11-01T00:00:00Z');
const result = (hour: number, members: Partial<DrillResult> = {}): DrillResult => ({
  client: 'claude-code',
  machine: 'build-7',
  passed: true,
  atMs: startMs + hour * hourMs,
  reason: 'stopped and recorded',
  ...members,
});
const reasonsAt = (
  hour: number,
  results: readonly DrillResult[],
  wanted: Parameters<typeof drillReasons>[1],
): string[] => {
  const nowMs = startMs + hour * hourMs;
  return drillReasons(drillStates(results, nowMs), wanted, { nowMs, sinceMs: startMs });
};

describe('what the results of drills say', () => {
  it('a drill is overdue one moment after its time, and names client, machine and since when', () => {
    const wanted = { everyHours: 24 };
    expect(reasonsAt(25, [result(1)], wanted)).toEqual([]);
    expect(reasonsAt(25.001, [result(1)], wanted)).toEqual([
      'drill_overdue: claude-code on build-7 passed last at 2026-11-01T01:00:00.000Z; overdue since 2026-11-02T01:00:00.000Z (every 24 h)',
    ]);
  });

  it('a failed drill is a reason until a newer one passes, also where nothing is required', () => {
    const failed = result(2, { passed: false, reason: 'the forbidden call ran' });
    expect(reasonsAt(3, [failed, result(1)], {})).toEqual([
      'drill_failed: claude-code on build-7 at 2026-11-01T02:00:00.000Z: the forbidden call ran',
    ]);
    expect(reasonsAt(4, [failed, result(3), result(1)], {})).toEqual([]);
  });

  it('a failed drill does not count as one that passed', () => {
    const failed = result(30, { passed: false });
    expect(reasonsAt(31, [result(1), failed], { everyHours: 24 })).toHaveLength(2);
  });

  it('each machine and each client is judged by itself, a client by its own hours', () => {
    const results = [result(1), result(1, { machine: 'laptop' }), result(1, { client: 'codex' })];
    const reasons = reasonsAt(40, results, { everyHours: 24, clients: { codex: 100 } });
    expect(reasons.map((each) => each.split(' passed')[0])).toEqual([
      'drill_overdue: claude-code on build-7',
      'drill_overdue: claude-code on laptop',
    ]);
  });

  it('a required client that never drilled is overdue, a machine without results for 30 days is forgotten', () => {
    const wanted = { clients: { codex: 24 } };
    expect(reasonsAt(24, [], wanted)).toEqual([]);
    expect(reasonsAt(25, [], wanted)).toEqual([
      'drill_overdue: codex has no result of any machine; overdue since 2026-11-02T00:00:00.000Z (every 24 h)',
    ]);
    expect(reasonsAt(24 * 30 + 1, [result(1)], { everyHours: 24 })).toHaveLength(1);
    expect(reasonsAt(24 * 31 + 2, [result(1)], { everyHours: 24 })).toEqual([]);
  });

  it('an event of any shape is read without an error, and one of another type is none', () => {
    const serverTimestamp = '2026-11-01T00:00:00.000Z';
    const of = (members: object) =>
      readDrill({ eventType: 'drill.failed', resource: null, serverTimestamp, metadata: {}, ...members });
    expect(of({ eventType: 'tool.call' })).toBeNull();
    expect(of({})).toMatchObject({ client: 'unknown', machine: 'unknown', passed: false, reason: '' });
    const odd = { resource: { name: 7 }, metadata: { machine: ['x'], reason: 'r'.repeat(1000) } };
    expect(of(odd)).toMatchObject({ client: 'unknown', machine: 'unknown', reason: 'r'.repeat(100) });
  });
});
