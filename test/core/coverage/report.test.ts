import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../src/contract/events.ts';
import { observedType } from '../../../src/core/coverage/join.ts';
import { observationOf, reportKey, sequenceOf, sourceOf } from '../../../src/core/coverage/report.ts';

const call = (metadata: Record<string, unknown>): EventInput => ({
  runId: 'r',
  eventType: 'tool.call',
  actor: { name: 'a' },
  resource: { name: 'pay', type: 'tool' },
  action: 'execute',
  timestamp: '2026-01-05T09:00:00Z',
  clientEventId: 'otlp:1',
  metadata,
});

describe('the source of an event', () => {
  it('is telemetry, a transcript, or the program that governs', () => {
    expect(sourceOf({ importer: 'otlp', timestampSource: 'source' })).toBe('otlp');
    expect(sourceOf({ timestampSource: 'import' })).toBe('transcript');
    expect(sourceOf({ evaluationId: 'pev_1', timestampSource: 'source' })).toBe('direct');
    expect(sourceOf({ recordedBy: 'hook', timestampSource: 'source' })).toBe('hook');
    expect(sourceOf({ recordedBy: 'mcp' })).toBe('mcp');
    expect(sourceOf({ recordedBy: 'another', timestampSource: 'source' })).toBe('direct');
    expect(sourceOf({ toolCallId: 'c1' })).toBe('direct');
  });
});

describe('an observation', () => {
  const event = call({
    toolCallId: 'c1',
    arguments: { b: 1, a: 2 },
    content: { hash: 'sha256:00', bytes: 3 },
    details: { stdout: 'a secret' },
    outcome: 'ok',
  });

  it('names the call, keeps the ids, and has hashes in place of content', () => {
    const observed = observationOf(event);
    expect(observed).toEqual({
      runId: 'r',
      eventType: observedType,
      actor: { name: 'a' },
      action: 'observe',
      timestamp: '2026-01-05T09:00:00Z',
      clientEventId: 'otlp:1',
      metadata: {
        toolCallId: 'c1',
        outcome: 'ok',
        observed: 'tool.call',
        tool: 'pay',
        // {"a":2,"b":1}
        arguments: {
          hash: 'sha256:d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772',
          bytes: 13,
        },
        content: { hash: 'sha256:00', bytes: 3 },
      },
    });
    expect(observationOf(event)).toEqual(observed);
  });

  it('is of the same call or result as the event that it stands in for', () => {
    expect(reportKey(observationOf(event))).toBe(reportKey(event));
    expect(reportKey({ ...event, eventType: 'tool.result' })).not.toBe(reportKey(event));
  });

  it('has no key where the source has no id of its own', () => {
    expect(reportKey(call({ toolCallId: 'import:call-1' }))).toBeNull();
    expect(reportKey(call({ toolCallId: 7 }))).toBeNull();
    expect(reportKey({ ...call({ toolCallId: 'c1' }), eventType: 'tool.decision' })).toBeNull();
  });
});

describe('the number of a log record', () => {
  it('is a count, as a number or as digits', () => {
    const numbers = [0, '7', -1, 1.5, '', 'x', null].map((given) =>
      sequenceOf({ otel: { 'event.sequence': given } }),
    );
    expect(numbers).toEqual([0, 7, null, null, null, null, null]);
    expect([sequenceOf({}), sequenceOf({ otel: 'x' }), sequenceOf({ otel: {} })]).toEqual([null, null, null]);
  });
});
