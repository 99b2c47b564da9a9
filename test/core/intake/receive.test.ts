import { describe, expect, it } from 'vitest';
import { readBatch, receive, traceIdsOf, type ReceiveOptions } from '../../../src/core/intake/receive.ts';
import type { Source } from '../../../src/core/intake/run.ts';
import { log, logs, span, spanId, tool, traceId, traces } from '../../http/otlp/requests.ts';

const atMs = Date.UTC(2026, 0, 6);

const received = (signal: 'traces' | 'logs', request: object, options: Partial<ReceiveOptions> = {}) => {
  const batch = readBatch(signal, request as Source, { atMs });
  return { batch, ...receive(batch, { atMs, capture: 'full', known: new Map(), ...options }) };
};
const runsOf = ({ events }: { events: readonly { event: { runId: string } }[] }): string[] =>
  events.map(({ event }) => event.runId);

describe('received records', () => {
  it('have ids that no other record, run or request changes', () => {
    const alone = received('traces', traces(tool(1))).events[0]?.event;
    const beside = received('traces', traces(tool(2), tool(1)), {
      known: new Map([[traceId(1), 'conv']]),
    }).events.at(-1)?.event;
    expect(alone?.clientEventId).toBe(`otlp:span.${traceId(1)}.${spanId(1)}`);
    expect(beside?.clientEventId).toBe(alone?.clientEventId);
    expect([alone?.runId, beside?.runId]).toEqual([`trace:${traceId(1)}`, 'conv']);
    const ids = (...records: object[]) =>
      received('logs', logs(...records)).events.map(({ event }) => event.clientEventId);
    const [one, two] = ids(log({ 'session.id': 's', a: 1 }), log({ 'session.id': 's', a: 2 }));
    expect(one).not.toBe(two);
    expect(ids(log({ a: 2, 'session.id': 's' }))).toEqual([two]);
  });

  it('go to the run that is known, else that a span of the request names, else to the trace', () => {
    const request = traces(tool(1), tool(2, { 'gen_ai.conversation.id': 'conv' }));
    expect(runsOf(received('traces', request))).toEqual(['conv', 'conv']);
    const known = new Map([[traceId(1), 'first']]);
    expect(runsOf(received('traces', request, { known }))).toEqual(['first', 'conv']);
    const unnamed = new Map([[traceId(1), `trace:${traceId(1)}`]]);
    expect(received('traces', request, { known: unnamed }).traces).toEqual(new Map([[traceId(1), 'conv']]));
    expect(received('traces', traces(tool(1)), { known }).traces).toEqual(known);
  });

  it('let a log name the run of its trace, and say nothing of a trace without records of agents', () => {
    const named = received('logs', logs(log({ 'session.id': 's' }, { traceId: traceId(3) })));
    expect(named.traces).toEqual(new Map([[traceId(3), 's']]));
    const quiet = received('traces', traces(span(1, { a: 'b' })));
    expect([quiet.traces.size, quiet.filtered.values().next().value]).toEqual([0, 1]);
    expect(traceIdsOf(quiet.batch)).toEqual([traceId(1)]);
  });

  it('keep a time that no clock shows as an attribute, and take the time of arrival', () => {
    const [only] = received(
      'traces',
      traces(tool(1, {}, { startTimeUnixNano: '32503680000000000000' })),
    ).events;
    expect(only?.event.timestamp).toBe('2026-01-06T00:00:00.000Z');
    expect(only?.event.metadata).toMatchObject({
      timestampSource: 'import',
      otel: { 'gov.unusable_time': '3000-01-01T00:00:00.000000000Z' },
    });
  });

  it('name a call in its run, so that another signal can be told of it', () => {
    const callOf = (signal: 'traces' | 'logs', request: object) => received(signal, request).events[0]?.call;
    const values = { 'session.id': 's', 'gen_ai.tool.call.id': 'c1' };
    const bySpan = callOf('traces', traces(tool(1, values)));
    const result = { 'event.name': 'tool_result', tool_use_id: 'c1', tool_name: 'pay' };
    expect(callOf('logs', logs(log({ ...result, 'session.id': 's' })))).toBe(bySpan);
    expect(callOf('logs', logs(log({ ...result, 'session.id': 'other' })))).not.toBe(bySpan);
    expect(callOf('traces', traces(tool(1, { 'session.id': 's' })))).toBeNull();
  });
});
