/** What crosses to the thread that writes and back: the same as was sent, in a leaner form where it is one event. */
import { describe, expect, it } from 'vitest';
import type { AppendRequest } from '../../../../src/store/port/store.ts';
import type { Settled } from '../../../../src/store/sqlite/write/thread-messages.ts';
import {
  packOutcome,
  packWrite,
  unpackOutcome,
  unpackWrite,
} from '../../../../src/store/sqlite/write/thread-wire.ts';
import type { Write } from '../../../../src/store/sqlite/write/operations.ts';
import { event, genesis } from '../../support/fixture.ts';

const template = { status: 201, body: '', headers: {} };
const place = {
  outcome: 'appended',
  index: 7,
  eventId: 'evt_1',
  runSeq: 3,
  serverMs: 1_767_225_600_000,
} as const;
const stored = { outcome: 'stored', assigned: [place], response: null, used: 9 } as const;

const append = (more: Partial<AppendRequest> = {}): Write => ({
  verb: 'append',
  request: {
    projectId: 'prj_a',
    leaves: [event()],
    meter: { op: 'audit_event', units: 'accepted', limit: null },
    whole: false,
    ...more,
  },
});
const crossed = (write: Write): Write => unpackWrite(structuredClone(packWrite(write)));

describe('a write', () => {
  it.each<[string, Partial<AppendRequest>]>([
    ['nothing else', {}],
    ['all or nothing', { whole: true }],
    ['a limit', { meter: { op: 'audit_event', units: 'accepted', limit: 12 } }],
    ['units', { meter: { op: 'none', units: 0, limit: null } }],
    ['when its project was changed', { revisedMs: 0 }],
    ['what nothing equals', { revisedMs: null as never }],
    ['a client’s id', { leaves: [event({ clientEventId: 'c1' })], fingerprints: new Map([[0, 'f1']]) }],
    ['a system', { leaves: [event({ aiSystemId: 'gpt-4o', causedBy: ['evt_x'] })] }],
    [
      'any text',
      { leaves: [event({ runId: 'r2', metadata: { text: '\u2028"\\ 🚀\ud7ff', list: [1, null] } })] },
    ],
  ])('of one event with %s is packed, and the same again', (_, more) => {
    const write = append(more);
    expect(packWrite(write)).toBeInstanceOf(Array);
    expect(crossed(write)).toEqual(write);
  });

  it('has no limit, no fingerprints and no condition where none were told', () => {
    const meter = { op: 'audit_event', units: 1 } as const;
    const write: Write = { verb: 'append', request: { projectId: 'prj_a', leaves: [event()], meter } };
    const { leaves } = write.request;
    const told = { projectId: 'prj_a', leaves, meter: { ...meter, limit: null }, whole: false };
    expect(crossed(write)).toEqual({ verb: 'append', request: told });
    expect(crossed(append({ fingerprints: new Map() }))).toEqual(append({ leaves: [expect.anything()] }));
  });

  it.each<[string, Write]>([
    ['of no event', append({ leaves: [] })],
    ['of two events', append({ leaves: [event(), event()] })],
    ['of another leaf', append({ leaves: [genesis('a')] })],
    ['about somebody', append({ leaves: [{ ...event(), subjects: ['s'] }] })],
    ['with effects', append({ effects: [] })],
    ['with a key', append({ idempotency: { key: 'k', fingerprint: 'f', response: template } })],
    ['with an expectation', append({ expect: { runId: 'r1', events: 1 } })],
    ['by what is in force', append({ inForce: { policyIndex: null } })],
    ['at a size', append({ auditSize: 3 })],
    ['for a home', append({ toHome: [genesis('a')] })],
    ['with what nobody knows', append({ surprise: 1 } as Partial<AppendRequest>)],
    ['of another kind', { verb: 'sweepOld', nowMs: 1 }],
  ])('%s crosses as it is', (_, write) => {
    expect(packWrite(write)).toBe(write);
    expect(unpackWrite(write)).toBe(write);
  });
});

describe('an outcome', () => {
  it.each<[string, Settled]>([
    ['of an event', { no: 4, result: stored }],
    [
      'of another leaf',
      { no: 0, result: { ...stored, assigned: [{ ...place, eventId: null, runSeq: null }] } },
    ],
  ])('%s is packed, and the same again', (_, settled) => {
    expect(packOutcome(settled)).toBeInstanceOf(Array);
    expect(unpackOutcome(structuredClone(packOutcome(settled)))).toEqual(settled);
  });

  it.each<[string, Settled]>([
    ['of two leaves', { no: 1, result: { ...stored, assigned: [place, place] } }],
    [
      'of a duplicate',
      { no: 1, result: { ...stored, assigned: [{ outcome: 'duplicate', index: 1, eventId: 'e' }] } },
    ],
    ['of a conflict', { no: 1, result: { ...stored, assigned: [{ outcome: 'conflict' }] } }],
    ['with an answer', { no: 1, result: { ...stored, response: template } }],
    ['beside a home', { no: 1, result: { ...stored, home: 'prj_h' } }],
    ['without leaves', { no: 1, result: { outcome: 'stored' } }],
    ['that refuses', { no: 1, result: { outcome: 'outdated' } }],
    ['that is true', { no: 1, result: true }],
    ['that is nothing', { no: 1, result: undefined }],
    ['that is a text', { no: 1, result: 'text' }],
    ['that is null', { no: 1, result: null }],
    ['that failed', { no: 1, failure: { kind: 'error', message: 'no', stack: '' } as never }],
  ])('%s crosses as it is', (_, settled) => {
    expect(packOutcome(settled)).toBe(settled);
    expect(unpackOutcome(settled)).toBe(settled);
  });
});
