import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../src/contract/events.ts';
import { limits } from '../../../src/contract/limits.ts';
import type { Coverage } from '../../../src/core/coverage/judge.ts';
import { hasData } from '../../paths.ts';
import {
  claudeSession,
  codexSession,
  importedOtlp,
  importedTranscript,
  judged,
  reported,
  type Session,
} from './sessions.ts';

/** Verdicts of calls, and whether numbers are missing. */
const found = ({ calls, gaps }: Coverage): string[] => [
  ...calls.map(({ verdict, detail }) => (detail === null ? verdict : `${verdict}: ${detail}`)),
  ...gaps.map(({ first, last }) => `numbers ${first} to ${last}`),
];

const all = ({ hook, otlp, transcript }: Session): EventInput[] =>
  reported([hook, ...importedOtlp(otlp), ...importedTranscript(transcript)]);

const stepAfter = ({ runId }: Session): EventInput => ({
  runId,
  eventType: 'agent.step',
  actor: { name: 'later' },
  action: 'step',
  timestamp: '2026-11-25T05:00:00Z',
});

describe.skipIf(!hasData)('coverage of recorded sessions (skipped without the recorded runs)', () => {
  const sessions = hasData
    ? [['Claude Code', claudeSession()] as const, ['Codex', codexSession()] as const]
    : [];

  it.each(sessions)(
    'of %s finds every call governed, in whatever order its sources report',
    (_name, session) => {
      const otlp = importedOtlp(session.otlp);
      const transcript = importedTranscript(session.transcript);
      const orders = [
        [session.hook, ...otlp, ...transcript],
        [...otlp, session.hook, ...transcript],
        [...transcript, ...otlp, session.hook],
      ];
      for (const order of orders) {
        const coverage = judged(reported(order));
        expect(found(coverage)).toEqual(['governed']);
        expect(coverage.calls[0]?.sources).toEqual(['hook', 'otlp', 'transcript']);
        expect(coverage.isAlarming).toBe(false);
      }
    },
  );

  it.each(sessions)('of %s names a call that ran without a hook', (_name, session) => {
    const coverage = judged(all({ ...session, hook: [] }));
    expect(found(coverage)).toEqual(['ungoverned']);
    expect(coverage.isAlarming).toBe(true);
  });

  it.each(sessions)('of %s names dropped batches of telemetry, whichever are dropped', (name, session) => {
    const { otlp } = session;
    // Codex does not number its records, so only the loss of a call shows
    const shows = (kept: Session['otlp']): number =>
      importedOtlp(kept)
        .flatMap(({ events }) => events)
        .filter(({ eventType }) => name === 'Claude Code' || eventType === 'tool.result').length;
    const logs = otlp.flatMap(({ signal }, at) => (signal === 'logs' ? [at] : []));
    let dropped = 0;
    for (let every = 2; every <= otlp.length; every++) {
      for (let first = 0; first < every; first++) {
        const isKept = (at: number): boolean => at % every !== first;
        const kept = otlp.filter((_, at) => isKept(at));
        // nothing comes after the last records of a session that would show their loss at once
        const lastLog = logs.findLastIndex(isKept);
        const isTailOnly = logs.every((at, no) => no > lastLog === !isKept(at));
        if (lastLog === -1 || shows(kept) === shows(otlp) || (isTailOnly && name === 'Claude Code')) continue;
        dropped += 1;
        const events = all({ ...session, otlp: kept });
        const lateMs = limits.coverageSettleSeconds * 1000;
        const coverage = judged([...events, stepAfter(session)], (at) => (at === events.length ? lateMs : 0));
        expect(coverage.isAlarming, `${first} of every ${every}: ${found(coverage)}`).toBe(true);
      }
    }
    expect(dropped).toBeGreaterThan(2);
  });

  it.each(sessions)('of %s names the call of which a line of the transcript is missing', (_name, session) => {
    const { transcript } = session;
    const ofCall = transcript.filter((line) =>
      /"(tool_use|tool_result|function_call|function_call_output)"/.test(line),
    );
    expect(ofCall.length).toBeGreaterThanOrEqual(2);
    for (const line of ofCall) {
      const rest = transcript.filter((other) => other !== line);
      expect(found(judged(all({ ...session, transcript: rest }))).join()).toMatch(/^gap: transcript has/);
    }
  });

  it('names a call that ran after its denial', () => {
    const session = claudeSession();
    const [call] = session.hook;
    const denied = {
      ...call!,
      eventType: 'tool.denied',
      metadata: { toolCallId: 'toolu_01FAKE', status: 'deny' },
    };
    expect(found(judged(all({ ...session, hook: [denied] })))).toEqual(['denied_but_ran']);
  });
});

const base = {
  runId: 'r',
  actor: { name: 'a' },
  resource: { name: 'pay', type: 'tool' },
  action: 'do',
  timestamp: '2026-01-05T09:00:00Z',
};
type Metadata = Record<string, unknown>;
const direct = (eventType: string, metadata: Metadata): EventInput => ({ ...base, eventType, metadata });
const allowed = (id: string): EventInput => direct('tool.call', { toolCallId: id, evaluationId: 'pev_1' });
const span = (id: string, at = base.timestamp, more: Metadata = {}): EventInput => ({
  ...direct('tool.call', {
    toolCallId: id,
    importer: 'otlp',
    signal: 'span',
    timestampSource: 'source',
    ...more,
  }),
  timestamp: at,
});
const line = (eventType: string, id: string, more: Metadata = {}): EventInput =>
  direct(eventType, { toolCallId: id, timestampSource: 'source', ...more });
const later = '2026-01-05T09:00:01Z';
const mayBeRefused = 'unknown: its error may be a refusal';

describe('the verdict of a call', () => {
  it('is single_source where only the program that governs it reports it', () => {
    expect(found(judged([allowed('1'), direct('tool.result', { toolCallId: '1', ok: true })]))).toEqual([
      'single_source',
    ]);
  });

  it('is ungoverned where the program failed open, or records no decision', () => {
    expect(found(judged([direct('tool.call', { toolCallId: '1', failedOpen: true })]))).toEqual([
      'ungoverned',
    ]);
    expect(found(judged([direct('tool.call', {})]))).toEqual(['ungoverned']);
  });

  it('is denied where a denied call did not run, though the transcript has the refusal as an error', () => {
    const denied = direct('tool.denied', { toolCallId: '1', status: 'deny' });
    const refusal = line('tool.result', '1', { outcome: 'error' });
    expect(found(judged([denied, line('tool.call', '1'), refusal]))).toEqual(['denied']);
  });

  it('is denied where the MCP proxy refused a call that the client reports as ended, also after a hook allowed it', () => {
    const stopped = direct('tool.denied', { toolCallId: '1', recordedBy: 'mcp' });
    const hooked = direct('tool.call', { toolCallId: '1', recordedBy: 'hook', evaluationId: 'pev_1' });
    for (const events of [
      [stopped, span('1')],
      [hooked, stopped, span('1')],
      [stopped, hooked, span('1')],
    ]) {
      const { calls } = judged(events);
      expect(calls.map(({ verdict, decision }) => [verdict, decision])).toEqual([['denied', 'denied']]);
    }
  });

  it('is governed where the MCP proxy refused a call and allowed it later', () => {
    const stopped = direct('tool.denied', { toolCallId: '1', recordedBy: 'mcp' });
    const ran = direct('tool.call', { toolCallId: '1', recordedBy: 'mcp', evaluationId: 'pev_2' });
    expect(judged([stopped, ran, span('1')]).calls[0]).toMatchObject({
      verdict: 'governed',
      decision: 'allowed',
    });
  });

  it('is not_run where a call was asked for, and the client refused it or says nothing of a result', () => {
    const refused = line('tool.result', '1', {
      outcome: 'error',
      extra: { permissionDecision: { decision: 'reject' } },
    });
    expect(found(judged([line('tool.call', '1'), refused]))).toEqual(['not_run']);
    const goesOn = { ...line('agent.step', ''), timestamp: later };
    expect(found(judged([line('tool.call', '1'), goesOn]))).toEqual(['not_run']);
    expect(found(judged([line('tool.call', '1')]))).toEqual(['unknown: no source says yet whether it ran']);
    const blocked = line('tool.result', '1', { outcome: 'error', extra: { blocked: true } });
    expect(found(judged([line('tool.call', '1'), blocked]))).toEqual(['not_run']);
    const byUser = line('tool.result', '1', { outcome: 'refused' });
    expect(found(judged([line('tool.call', '1'), byUser]))).toEqual(['not_run']);
  });

  it('is ungoverned where a call without a decision failed: it ran, as far as anybody says', () => {
    const failed = line('tool.result', '1', { outcome: 'error' });
    expect(found(judged([line('tool.call', '1'), failed]))).toEqual(['ungoverned']);
  });

  it.each(['error', 'timed_out', 'interrupted', 'unanswered'])(
    'is failed where an allowed call ended with %s, and another source reports it',
    (outcome) => {
      const events = [allowed('1'), line('tool.call', '1'), line('tool.result', '1', { outcome })];
      expect(judged(events).calls).toMatchObject([{ verdict: 'failed', ending: outcome }]);
      expect(found(judged([...events, direct('tool.result', { toolCallId: '1', outcome: 'ok' })]))).toEqual([
        'governed',
      ]);
    },
  );

  it('is user_refused where an allowed call was refused, though telemetry has it as an error', () => {
    const refused = line('tool.result', '1', { outcome: 'refused' });
    const failed = { importer: 'otlp', signal: 'log', scope: 'com.anthropic.claude_code.events' };
    const events = [allowed('1'), line('tool.call', '1'), refused];
    expect(judged(events).calls).toMatchObject([{ verdict: 'user_refused', ending: 'refused' }]);
    const both = [
      ...events,
      span('1', later, failed),
      line('tool.result', '1', { ...failed, outcome: 'error' }),
    ];
    expect(found(judged(both))).toEqual(['user_refused']);
    expect(found(judged(both.slice(1)))).toEqual(['not_run']);
  });

  it('is unknown where nothing decided, and the error may be a refusal', () => {
    const scope = 'com.anthropic.claude_code.events';
    const call = span('1', later, { scope });
    const failed = line('tool.result', '1', { importer: 'otlp', signal: 'log', scope, outcome: 'error' });
    expect(found(judged([call, failed]))).toEqual([mayBeRefused]);
    expect(judged([call, failed]).isAlarming).toBe(false);
    // a transcript tells a refusal from an error
    const own = [line('tool.call', '1'), line('tool.result', '1', { outcome: 'error' })];
    expect(found(judged([call, failed, ...own]))).toEqual(['ungoverned']);
    expect(found(judged([span('1'), { ...failed, metadata: { ...failed.metadata, scope: 'x' } }]))).toEqual([
      'ungoverned',
    ]);
  });

  it('reads the words of older proxies', () => {
    const lost = direct('tool.result', { toolCallId: '1', outcome: 'lost', ok: false });
    expect(judged([allowed('1'), lost]).calls).toMatchObject([{ ending: 'unanswered' }]);
  });

  it('is gap where telemetry has later calls, and not this one', () => {
    expect(found(judged([allowed('1'), allowed('2'), span('2', later)]))).toEqual([
      'gap: otlp does not have the call',
      'governed',
    ]);
  });

  it('waits for telemetry that is behind, for a minute', () => {
    const events = [span('0'), allowed('0'), allowed('1')];
    const settleMs = limits.coverageSettleSeconds * 1000;
    const recordedAt = (last: number) => (at: number) => (at === 3 ? last : 0);
    const after = direct('agent.step', {});
    expect(found(judged([...events, after], recordedAt(settleMs - 1)))).toEqual([
      'governed',
      'single_source',
    ]);
    expect(found(judged([...events, after], recordedAt(settleMs)))).toEqual([
      'governed',
      'gap: otlp does not have the call',
    ]);
  });

  it('is no gap where the transcript is of a proxy, or of an agent that started others', () => {
    const proxied = [line('run.started', '', { importer: 'mcp' }), line('tool.call', '0'), allowed('0')];
    const task = { name: 'Task', type: 'tool' };
    const asked = [
      { ...line('tool.call', '0'), resource: task },
      { ...allowed('0'), resource: task },
    ];
    for (const events of [proxied, asked]) {
      expect(
        found(judged([...events, allowed('1'), { ...line('agent.step', ''), timestamp: later }])),
      ).toEqual(['governed', 'single_source']);
    }
  });

  it('keeps calls apart that no source gives an id', () => {
    const bare = direct('tool.call', { evaluationId: 'pev_1' });
    expect(found(judged([bare, bare]))).toEqual(['single_source', 'single_source']);
  });
});

describe('missing numbers of log records', () => {
  const numbered = (number: unknown): EventInput =>
    direct('agent.step', {
      importer: 'otlp',
      signal: 'log',
      timestampSource: 'source',
      otel: { 'event.sequence': number },
    });

  it('are named from 0 on, in whatever order records come', () => {
    const run = [numbered(5), numbered(1), numbered('2'), numbered(1)];
    expect(judged(run).gaps).toMatchObject([
      { source: 'otlp', first: 0, last: 0 },
      { source: 'otlp', first: 3, last: 4 },
    ]);
  });

  it('are not made up from values that are no numbers', () => {
    expect(judged([numbered(-1), numbered(1.5), numbered('x'), numbered(null), numbered('')]).gaps).toEqual(
      [],
    );
  });
});
