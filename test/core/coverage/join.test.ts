import { describe, expect, it } from 'vitest';
import type { AuditEvent, EventInput } from '../../../src/contract/events.ts';
import { joinOf } from '../../../src/core/coverage/join.ts';
import { claimedKeys } from '../../../src/core/coverage/report.ts';
import { ToolCalls } from '../../../src/service/reports/counts/activity.ts';
import { timelineOf } from '../../../src/console/runs/timeline.ts';
import { judged } from './sessions.ts';

const completed = (added: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  eventType: 'event.completed',
  metadata: { importer: 'otlp', completedType: 'tool.call', toolCallId: 'import:a', added, ...more },
});
const joined = completed({ toolCallId: 'c1' });
const copied = completed({ toolCallId: 'c1', readAs: 'x.tool.observed' });

describe('an event that joins two reports of a call', () => {
  it('names both ids, and says whether the older report is a copy', () => {
    const facts = { type: 'tool.call', from: 'import:a', to: 'c1', run: null };
    expect(joinOf(joined)).toEqual({ ...facts, isCopy: false });
    expect(joinOf(copied)).toEqual({ ...facts, isCopy: true });
    for (const other of [
      completed({}),
      completed({ toolCallId: 'import:a' }),
      completed({ toolCallId: 'c1' }, { importer: 'codex' }),
      completed({ toolCallId: 'c1' }, { completedType: 'model.invoked' }),
      { ...joined, eventType: 'tool.call' },
      completed({ toolCallId: 'c1', readAs: 'x.tool.observed' }, { toolCallId: 'c2' }),
    ])
      expect(joinOf(other)).toBeNull();
  });

  it('claims the call for telemetry under its new id', () => {
    expect(claimedKeys(joined)).toEqual(['tool.call c1']);
    expect(claimedKeys(copied)).toEqual([]);
  });
});

describe('coverage', () => {
  const at = '2026-01-05T09:00:00Z';
  const of = (eventType: string, metadata: object, tool = 'pay') =>
    ({
      runId: 'r',
      eventType,
      actor: { name: 'a' },
      action: 'x',
      timestamp: at,
      resource: { name: tool },
      metadata,
    }) as EventInput;
  const verdicts = (...events: EventInput[]) => judged(events).calls.map(({ verdict }) => verdict);
  const governed = of('tool.call', { toolCallId: 'c1', recordedBy: 'hook', evaluationId: 'pev_1' });
  const ran = (id: string, source: object, tool?: string) =>
    ['tool.call', 'tool.result'].map((type) => of(type, { toolCallId: id, ok: true, ...source }, tool));
  const copy = (id: string, to: string, more = {}) =>
    of(
      'event.completed',
      completed({ toolCallId: to, readAs: 'x.tool.observed', ...more }, { toolCallId: id }).metadata,
    );

  it('joins reports of telemetry alone', () => {
    const transcript = ran('import:a', { timestampSource: 'source', importer: 'codex' });
    expect(verdicts(governed, ...transcript, copy('import:a', 'c1'))).toEqual([
      'single_source',
      'ungoverned',
    ]);
    const denied = of('tool.denied', { toolCallId: 'import:b', recordedBy: 'hook', evaluationId: 'pev_2' });
    const report = ran('import:b', { importer: 'otlp' });
    for (const target of [{ toolCallId: 'c1' }, { toolCallId: 'gone', run: 'other' }]) {
      const forged = copy('import:b', target.toolCallId, target);
      expect(verdicts(governed, denied, ...report, forged)).toEqual(['single_source', 'denied_but_ran']);
    }
  });

  it('never joins calls of two tools', () => {
    const report = ran('import:a', { importer: 'otlp' }, 'delete');
    expect(verdicts(governed, ...report, copy('import:a', 'c1'))).toEqual(['single_source', 'ungoverned']);
    expect(verdicts(governed, ...ran('import:a', { importer: 'otlp' }), copy('import:a', 'c1'))).toEqual([
      'governed',
    ]);
  });
});

describe('counts of tool calls', () => {
  const call = { eventType: 'tool.call', metadata: { importer: 'otlp', toolCallId: 'import:a' } };
  const sumOf = (...events: { eventType: string; metadata: object }[]) => {
    const counted: string[] = [];
    const counts = new ToolCalls<string>((of) => counted.push(of));
    for (const [at, { eventType, metadata }] of events.entries())
      counts.add({ clear: { eventType, runId: 'r' }, metadata, members: new Map() } as never, `event ${at}`);
    counts.finish();
    return { calls: counts.calls, undecided: counts.undecided, counted };
  };

  const other = { ...call, metadata: { importer: 'otlp', toolCallId: 'c1' } };
  const hook = {
    eventType: 'tool.call',
    metadata: { toolCallId: 'c1', recordedBy: 'hook', evaluationId: 'pev_1' },
  };
  const denied = { eventType: 'tool.denied', metadata: { toolCallId: 'c1', recordedBy: 'hook' } };
  const transcript = { eventType: 'tool.call', metadata: { toolCallId: 'c1', timestampSource: 'source' } };

  it('count a copy of telemetry once, and take back no call whose other report nobody knows', () => {
    expect(sumOf(call, other, copied)).toEqual({ calls: 1, undecided: 1, counted: ['event 1'] });
    expect(sumOf(call, joined)).toMatchObject({ calls: 1, counted: ['event 0'] });
    expect(sumOf(call, joined, copied, copied)).toMatchObject({ calls: 1, undecided: 1 });
    // a client could write such an event before only the service could
    for (const forged of [
      [copied, call],
      [call, copied],
      [copied, call, copied, copied],
    ])
      expect(sumOf(...forged)).toMatchObject({ calls: 1, undecided: 1 });
    const direct = { eventType: 'tool.call', metadata: { toolCallId: 'import:a' } };
    expect(sumOf(direct, other, copied)).toMatchObject({ calls: 2 });
  });

  it('count a call of several sources once, in any order, with the decision of the one that asked', () => {
    for (const events of [
      [hook, other, transcript],
      [other, hook, transcript],
      [transcript, other, hook],
    ]) {
      const { calls, undecided, counted } = sumOf(...events);
      expect([calls, undecided]).toEqual([1, 0]);
      expect(counted).toEqual([`event ${events.indexOf(hook)}`]);
    }
    expect(sumOf(other, transcript)).toMatchObject({ calls: 1, undecided: 1 });
  });

  it('count no call that a hook refused, and each of several that one source reports under one id', () => {
    expect(sumOf(other, denied)).toMatchObject({ calls: 0, undecided: 0 });
    expect(sumOf(denied, hook, other)).toMatchObject({ calls: 1, undecided: 0 });
    expect(sumOf(hook, hook, other)).toMatchObject({ calls: 2 });
  });
});

describe('the timeline of a run', () => {
  it('shows the reports of a call that telemetry joined below one call', () => {
    const event = (sequence: number, of: { eventType: string; metadata: object }) =>
      ({
        sequence,
        eventId: `evt_${sequence}`,
        timestamp: '2026-01-05T09:00:00Z',
        resource: { name: 'pay' },
        action: 'execute',
        ...of,
      }) as unknown as AuditEvent;
    const observed = {
      eventType: 'x.tool.observed',
      metadata: { importer: 'otlp', toolCallId: 'c1', observed: 'tool.call' },
    };
    const circle = completed({ toolCallId: 'import:a' }, { toolCallId: 'c1' });
    const call = { eventType: 'tool.call', metadata: { importer: 'otlp', toolCallId: 'import:a' } };
    const shown = (...events: { eventType: string; metadata: object }[]) =>
      timelineOf({
        events: events.map((each, at) => event(at, each)),
        evaluations: [],
        approvals: [],
      }).map(({ isPart }) => isPart);
    expect(shown(call, observed, joined)).toEqual([false, true, true]);
    expect(shown(call, observed, joined, circle)).toHaveLength(4);
  });
});
