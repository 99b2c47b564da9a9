/** Runs of real clients as a plane recorded them, before events had the hash of what a call does. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../src/contract/events.ts';
import { cases, hasCases } from '../../paths.ts';
import { judged } from './sessions.ts';

const eventsOf = (name: string): EventInput[] =>
  readFileSync(cases(`agents/${name}`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const { runId, eventType, actor, resource, action, timestamp, metadata } = JSON.parse(
        line,
      ) as EventInput;
      return {
        runId,
        eventType,
        actor,
        action,
        timestamp,
        ...(resource === null || resource === undefined ? {} : { resource }),
        metadata: metadata ?? {},
      };
    });

describe.skipIf(!hasCases)('a run (skipped without the recorded cases)', () => {
  it('of Codex in code mode is covered, which was not covered by rules 3', () => {
    const events = eventsOf('codex-code-mode-events.ndjson');
    const { calls, isAlarming } = judged(events);
    expect(calls.map(({ tool, verdict, compared }) => [tool, verdict, compared])).toEqual([
      ['Bash', 'governed', 'tool'],
      ['Bash', 'denied', null],
      ['exec', 'governed', null],
    ]);
    expect([isAlarming, judged(events, undefined, 3).isAlarming]).toEqual([false, true]);
  });

  it('in which echo was decided and rm ran is not covered, which was covered by rules 3', () => {
    const events = eventsOf('same-id-events.ndjson');
    const { calls, isAlarming } = judged(events);
    expect(calls).toMatchObject([
      { verdict: 'mismatch', detail: 'decided as echo, otlp reports rm', compared: null },
    ]);
    expect([isAlarming, judged(events, undefined, 3).isAlarming]).toEqual([true, false]);
  });
});
