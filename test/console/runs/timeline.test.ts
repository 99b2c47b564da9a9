import { describe, expect, it } from 'vitest';
import { timelineOf, type RunParts } from '../../../src/console/runs/timeline.ts';
import { digestOf } from '../../../src/core/json/digest.ts';
import { threadMs } from '../../thread-ms.ts';

type Parts = { -readonly [Name in keyof RunParts]: RunParts[Name] };

const event = (sequence: number, eventType: string, members: Record<string, unknown> = {}) =>
  ({
    eventId: `evt_${sequence}`,
    runId: 'run',
    eventType,
    actor: { name: 'agent' },
    resource: { name: 'pay', type: 'tool' },
    action: 'execute',
    timestamp: '2026-03-01T09:30:00Z',
    serverTimestamp: '2026-03-01T09:30:00.000Z',
    metadata: {},
    causedBy: null,
    aiSystemId: null,
    clientEventId: null,
    sequence,
    leafHash: `sha256:${'0'.repeat(64)}`,
    ...members,
  }) as Parts['events'][number];

const evaluation = (sequence: number, id: string, members: Record<string, unknown> = {}) =>
  ({
    id,
    runId: 'run',
    policySource: 'tool',
    policyCount: 1,
    decisions: [
      {
        policyId: 'limit',
        version: 2,
        decision: 'deny',
        outcome: 'matched',
        reasoning: 'deny v2: 101 > 100',
      },
    ],
    shadow: [],
    checkpoint: {},
    policySetHash: null,
    combined: 'deny',
    evaluatedAt: '2026-03-01T09:30:00.000Z',
    sequence,
    ...members,
  }) as Parts['evaluations'][number];

const lines = (parts: Partial<RunParts>) =>
  timelineOf({ events: [], evaluations: [], approvals: [], ...parts }).map(
    ({ kind, title, text, isPart, outcome }) =>
      `${isPart ? '  ' : ''}${kind} ${title}${outcome === null ? '' : ` ${outcome}`}: ${text}`,
  );

describe('the timeline of a run', () => {
  it('a call has its decision with the clause, and its result, below it, whatever was recorded between', () => {
    const events = [
      event(0, 'prompt.submitted', { resource: null, metadata: { content: 'pay\n  101' }, actor: 'Ada' }),
      event(2, 'tool.evaluated', { metadata: { evaluationId: 'pev_1', decision: 'deny' } }),
      event(3, 'tool.denied', {
        metadata: { evaluationId: 'pev_1', toolCallId: 'c1', arguments: { amount: 101 } },
      }),
      event(4, 'model.invoked', { resource: { name: 'gpt' }, action: 'inference' }),
      event(5, 'tool.result', { metadata: { toolCallId: 'c1', content: 'refused' } }),
    ];
    expect(lines({ events, evaluations: [evaluation(1, 'pev_1')] })).toEqual([
      'prompt Ada: pay 101',
      'call pay: {"amount":101}',
      '  decision pay deny: limit: deny v2: 101 > 100',
      '  result pay: refused',
      'model gpt: inference',
    ]);
  });

  it('a call that a person approved has both decisions with the approval between them', () => {
    const asked = { evaluationId: 'pev_1', decision: 'escalate', approvalId: 'apr_1' };
    const allowed = { evaluationId: 'pev_2', decision: 'allow', approvalId: 'apr_1' };
    const approval = {
      approvalId: 'apr_1',
      evaluationId: 'pev_1',
      status: 'approved',
      reason: 'ask',
      requestedAt: '2026-03-01T09:30:00.000Z',
      decidedAt: '2026-03-01T09:31:00.000Z',
      decidedBy: 'usr_ada',
      comment: 'once',
      tool: { name: 'pay' },
    } as RunParts['approvals'][number];
    const events = [
      event(1, 'tool.evaluated', { metadata: asked }),
      event(3, 'tool.evaluated', { metadata: allowed }),
      event(4, 'tool.call', { metadata: { ...allowed, toolCallId: 'c1', content: 'x' } }),
    ];
    const evaluations = [
      evaluation(0, 'pev_1', { combined: 'escalate' }),
      evaluation(2, 'pev_2', { combined: 'escalate' }),
    ];
    expect(lines({ events, evaluations, approvals: [approval] })).toEqual([
      'call pay allow: x',
      '  decision pay escalate: no clause matched',
      '  approval pay approved: by usr_ada: once',
      '  decision pay allow: no clause matched',
    ]);
  });

  it('a decision without an event stands where it was recorded, and one about a call waits for its event', () => {
    const evaluations = [
      evaluation(5, 'pev_late', { policySource: 'active' }),
      evaluation(1, 'pev_early', { policySource: 'requested', combined: 'allow' }),
      evaluation(3, 'pev_call'),
    ];
    expect(lines({ events: [event(2, 'agent.step')], evaluations })).toEqual([
      'decision requested allow: no clause matched',
      'other agent.step: execute',
      'decision active deny: limit: deny v2: 101 > 100',
    ]);
  });

  it('a prompt and a call of a model are each one, whichever sources report them in any form', () => {
    const [hook, transcript] = [{ recordedBy: 'hook' }, { timestampSource: 'source' }];
    const log = { importer: 'otlp', signal: 'log' };
    const span = { importer: 'otlp', signal: 'span', otel: { 'gen_ai.response.id': 'm1', request_id: 'r1' } };
    const said = (at: number, content: unknown, by: object, type = 'prompt.submitted') =>
      event(at, type, { actor: { name: 'Ada' }, metadata: { content, ...by } });
    const invoked = (at: number, metadata: object, type = 'model.invoked') =>
      event(at, type, { resource: { name: 'gpt' }, action: 'inference', metadata });
    const events = [
      said(0, digestOf('go'), hook),
      invoked(1, { ...log, otel: { request_id: 'r1' } }),
      invoked(2, { ...span, observed: 'model.invoked' }, 'x.model.observed'),
      said(3, 'go', log),
      invoked(4, { ...transcript, extra: { messageId: 'm1', requestId: 'r1' } }),
      said(
        5,
        [{ type: 'text', text: 'go' }],
        { ...transcript, observed: 'prompt.submitted' },
        'x.prompt.observed',
      ),
      said(6, 'go', transcript),
      said(7, undefined, { ...log, record: 'user_prompt' }),
      invoked(8, { ...transcript, extra: { messageId: 'm2' } }),
    ];
    expect(lines({ events })).toEqual([
      expect.stringMatching(/^prompt Ada: \{"hash"/),
      '  prompt Ada: go',
      '  other x.prompt.observed: seen by a recording',
      '  prompt Ada: execute',
      'model gpt: inference',
      '  other x.model.observed: seen by telemetry',
      '  model gpt: inference',
      'prompt Ada: go',
      'model gpt: inference',
    ]);
  });

  it('values of unexpected types and very long texts give short lines', () => {
    const events = [
      event(0, 'tool.call', {
        resource: null,
        metadata: { toolCallId: 7, arguments: ['a'.repeat(300_000)] },
      }),
      event(1, 'tool.call', { resource: { name: 5 }, metadata: { toolCallId: 7, decision: {} } }),
    ];
    const entries = timelineOf({ events, evaluations: [], approvals: [] });
    expect(entries.map(({ title, isPart, outcome }) => [title, isPart, outcome])).toEqual([
      ['tool.call', false, null],
      ['tool.call', false, null],
    ]);
    expect(entries[0]?.text).toHaveLength(240);
  });

  it('ten thousand events become a timeline within 200 ms', () => {
    const events = Array.from({ length: 10_000 }, (_, at) =>
      event(at, ['tool.call', 'tool.result'][at % 2] ?? '', { metadata: { toolCallId: `c${at >> 1}` } }),
    );
    const before = threadMs();
    expect(timelineOf({ events, evaluations: [], approvals: [] })).toHaveLength(10_000);
    expect(threadMs() - before).toBeLessThan(200);
  });
});
