import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import {
  bypassReasons,
  bypassStates,
  openBypasses,
  readBypass,
  type BypassTrial,
} from '../../../src/core/agents/bypasses.ts';

const hourMs = 3_600_000;
const startMs = Date.parse('2026-11-01T00:00:00Z');
const trial = (hour: number, members: Partial<BypassTrial> = {}): BypassTrial => ({
  client: 'claude-code',
  machine: 'build-7',
  id: 'skill-command',
  title: 'A command in a skill of the project',
  closes: 'gov agents install --scope managed',
  result: 'open',
  reason: 'it worked',
  version: '2.1.332',
  scope: 'user',
  atMs: startMs + hour * hourMs,
  ...members,
});

describe('what the log says of ways around hooks', () => {
  it('a way is open until a newer trial shows that it is shut; one that shows nothing does not shut it', () => {
    const open = trial(1);
    const notShown = trial(2, { result: 'not_shown' });
    expect(bypassStates([notShown, open])).toEqual([{ newest: notShown, shown: open }]);
    expect(openBypasses([notShown, open], startMs)).toEqual([open]);
    expect(openBypasses([trial(3, { result: 'shut' }), notShown, open], startMs)).toEqual([]);
    expect(bypassStates([notShown])).toEqual([{ newest: notShown, shown: null }]);
    expect(openBypasses([notShown], startMs)).toEqual([]);
  });

  it('health has one reason for a client of a machine, names five ways and counts the others', () => {
    const ids = ['f', 'e', 'd', 'c', 'b', 'a'];
    const at = '2026-11-01T01:00:00.000Z';
    const five = ids.slice(1).map((id) => trial(1, { id }));
    const start = `drill_bypass_open: claude-code on build-7 at ${at}:`;
    expect(bypassReasons(five, startMs)).toEqual([
      `${start} 5 ways around its hooks are open: a, b, c, d, e`,
    ]);
    expect(bypassReasons([...five, trial(1, { id: 'f' })], startMs)).toEqual([
      `${start} 6 ways around its hooks are open: a, b, c, d, e and 1 more`,
    ]);
    expect(bypassReasons([trial(1), trial(1, { client: 'codex' })], startMs)).toEqual([
      `${start} 1 way around its hooks is open: skill-command`,
      `drill_bypass_open: codex on build-7 at ${at}: 1 way around its hooks is open: skill-command`,
    ]);
  });

  it('an open way is forgotten one moment after 30 days', () => {
    const days = limits.drillForgetDays * 24;
    expect(openBypasses([trial(0)], startMs + days * hourMs)).toHaveLength(1);
    expect(openBypasses([trial(0)], startMs + days * hourMs + 1)).toEqual([]);
  });

  it('an event of any shape is read without an error, an unknown result shows nothing, and another type is none', () => {
    const serverTimestamp = '2026-11-01T00:00:00.000Z';
    const of = (members: object) =>
      readBypass({ eventType: 'drill.bypass', resource: null, serverTimestamp, metadata: {}, ...members });
    expect(of({ eventType: 'drill.passed' })).toBeNull();
    expect(of({})).toMatchObject({
      client: 'unknown',
      machine: 'unknown',
      id: 'unknown',
      result: 'not_shown',
    });
    const chars = limits.drillTextChars;
    const metadata = {
      machine: ['x'],
      result: 'fine',
      reason: 'r'.repeat(chars + 1),
      title: 't'.repeat(chars),
    };
    expect(of({ resource: { name: 7 }, metadata })).toMatchObject({
      client: 'unknown',
      result: 'not_shown',
      version: null,
      reason: 'r'.repeat(chars),
      title: 't'.repeat(chars),
    });
  });
});
