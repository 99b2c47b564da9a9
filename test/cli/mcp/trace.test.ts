import { describe, expect, it } from 'vitest';
import { codexTurn, runOf, traceOf } from '../../../src/cli/mcp/trace.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${trace}-00f067aa0ba902b7-01`;

describe('runOf', () => {
  it.each([
    ['a conversation before a session', { baggage: 'session.id=s1,gen_ai.conversation.id=c1' }, 'c1'],
    ['a session before the trace', { baggage: 'x=1 , session.id = s%3A1 ;p=1', traceparent }, 's:1'],
    ['the trace', { traceparent }, `trace:${trace}`],
    [
      'the trace if the session cannot be the id of a run',
      { baggage: 'session.id=%20', traceparent },
      `trace:${trace}`,
    ],
    ['none without context', {}, undefined],
    ['none of an invalid trace', { traceparent: `00-${'0'.repeat(32)}-00f067aa0ba902b7-01` }, undefined],
    ['none of another type', { traceparent: 5, baggage: {} }, undefined],
    ['none of broken percent signs', { baggage: 'session.id=%zz' }, undefined],
  ])('returns %s', (_, meta, run) => {
    expect(runOf(meta)).toBe(run);
  });

  it.each([
    [
      'the session of Codex',
      { 'x-codex-turn-metadata': { session_id: 'codex-1' }, traceparent },
      undefined,
      'codex-1',
    ],
    ['the session of the client that started the proxy', { traceparent }, 'claude-1', 'claude-1'],
    ['a conversation before the session', { baggage: 'gen_ai.conversation.id=c1' }, 'claude-1', 'c1'],
    ['the trace if the session is empty', { traceparent }, '', `trace:${trace}`],
  ])('returns %s', (_, meta, session, run) => {
    expect(runOf(meta, {}, session)).toBe(run);
  });

  it('prefers the message to the headers', () => {
    expect(runOf({ baggage: 'session.id=a' }, { baggage: 'session.id=b' })).toBe('a');
    expect(traceOf({}, { traceparent })).toBe(trace);
  });
});

describe('codexTurn', () => {
  it('returns the session and the id of the call that Codex names', () => {
    const meta = { 'x-codex-turn-metadata': { session_id: 's' }, callId: 'call_1' };
    expect(codexTurn(meta)).toEqual({ session: 's', callId: 'call_1' });
    expect(codexTurn({ callId: 'call_1' })).toBeNull();
  });
});
