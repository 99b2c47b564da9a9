import { describe, expect, it } from 'vitest';
import { loadCheck } from '../../../src/cli/push/check.ts';
import type { EventInput } from '../../../src/contract/events.ts';
import { limits } from '../../../src/contract/limits.ts';
import type { Json, JsonObject } from '../../../src/core/json/parse.ts';
import { judgeEvent, loadEventCheck, rejection } from '../../../src/service/events/judge.ts';
import { event } from './service.ts';

const now = Date.UTC(2026, 5, 1);
const nested = (levels: number): Json => (levels === 0 ? 1 : { in: nested(levels - 1) });
const hours = (count: number): string => new Date(now + count * 3_600_000).toISOString();

/** The verdict of the service itself. */
async function served(value: Json): Promise<string | null> {
  const findings = (await loadEventCheck())(value);
  const [fault] = findings?.errors ?? [];
  if (fault !== undefined) return rejection(fault);
  const services = {
    now: () => now,
    salt: () => 'A'.repeat(22),
    fingerprint: () => '',
    counts: { skewedEvents: 0 },
  };
  // the judge uses these four of all services
  const judged = judgeEvent(value as EventInput, services as unknown as Parameters<typeof judgeEvent>[1]);
  return 'fault' in judged ? rejection(judged.fault) : null;
}

const without = (name: string): JsonObject => {
  const { [name]: _left, ...rest } = event(0);
  return rest;
};

describe('judging locally', () => {
  it.each<[string, Json]>([
    ['an event', event(0)],
    [
      'an event with every member',
      event(0, {
        resource: { name: 'x', type: 'tool' },
        causedBy: ['a'],
        aiSystemId: 's',
        clientEventId: 'c',
      }),
    ],
    ['no object', 7],
    ['null', null],
    ['a list', []],
    ...['runId', 'eventType', 'actor', 'action', 'timestamp'].map((name): [string, Json] => [
      `no ${name}`,
      without(name),
    ]),
    ['an unknown member', event(0, { colour: 'red' })],
    ['a member of the service', event(0, { eventId: 'evt_x' })],
    ['a run id with a slash', event(0, { runId: 'a/b' })],
    ['a run of the service', event(0, { runId: 'gov.system' })],
    ['a run of the service in capitals', event(0, { runId: 'GOV.SYSTEM' })],
    ['a run id of 128', event(0, { runId: 'r'.repeat(128) })],
    ['a run id of 129', event(0, { runId: 'r'.repeat(129) })],
    ['an action of 256', event(0, { action: 'a'.repeat(256) })],
    ['an action of 257', event(0, { action: 'a'.repeat(257) })],
    ['an action with a line break', event(0, { action: 'a\nb' })],
    ['an empty actor', event(0, { actor: '' })],
    ['an actor that is a number', event(0, { actor: 5 })],
    ['an actor name of 257', event(0, { actor: { name: 'a'.repeat(257) } })],
    ['an actor too large', event(0, { actor: { name: 'a', note: 'x'.repeat(limits.partyBytes) } })],
    ['a time without offset', event(0, { timestamp: '2026-01-01T00:00:00' })],
    ['a day that is not', event(0, { timestamp: '2026-02-30T00:00:00Z' })],
    ['1999', event(0, { timestamp: '1999-12-31T23:59:59Z' })],
    ['2000', event(0, { timestamp: '2000-01-01T00:00:00Z' })],
    ['a day ahead', event(0, { timestamp: hours(24) })],
    ['more than a day ahead', event(0, { timestamp: hours(25) })],
    [
      '101 members of metadata',
      event(0, { metadata: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`k${n}`, n])) }),
    ],
    ['metadata 16 deep', event(0, { metadata: nested(16) })],
    ['metadata 17 deep', event(0, { metadata: nested(17) })],
    ['metadata too large', event(0, { metadata: { text: 'x'.repeat(limits.metadataBytes) } })],
    ['33 causes', event(0, { causedBy: Array.from({ length: 33 }, (_, n) => `c${n}`) })],
  ])('the local check gives the same verdict as the service for %s', async (_name, value) => {
    const check = await loadCheck(() => now);
    const [local, remote] = [check(value), await served(value)];
    const code = (reason: string | null): string | undefined => reason?.split(':')[0];
    expect(code(local)).toBe(code(remote));
    expect((local ?? '').length).toBeLessThanOrEqual(limits.batchReasonChars);
  });
});
