import { describe, expect, it } from 'vitest';
import { contentHash } from '../../../../src/core/coverage/sightings.ts';
import { readReport, type ReportState } from '../../../../src/core/intake/otlp/history.ts';
import { digestOf } from '../../../../src/core/json/digest.ts';

type Given = Parameters<typeof readReport>[0];

/** Reads reports one after another; returns how each reads. */
const readAll = (reports: readonly (readonly [id: string, report: Given])[], others = 0): string[] => {
  let before: ReportState | null = null;
  return reports.map(([id, report]) => {
    const { reading, state } = readReport(report, { id, before, others });
    before = JSON.parse(JSON.stringify(state)) as ReportState;
    return reading;
  });
};
const message = (within: string): Given => ({ kind: 'message', key: 'k', within });
const call = (channel: string): Given => ({ kind: 'call', key: 'k', channel });
const prompt: Given = { kind: 'prompt', key: 'k', content: null };

describe('a report', () => {
  it('of a message is an event where a request has it more often than each before', () => {
    const within = (...spans: string[]) =>
      readAll(spans.map((span, at) => [`${span} ${at}`, message(span)] as const));
    expect(within('a', 'b', 'b', 'c', 'c', 'c')).toEqual([
      'event',
      'repeat',
      'event',
      'repeat',
      'repeat',
      'event',
    ]);
  });

  it('of a call of a model is an event where its channel is ahead of all others', () => {
    const [span, log] = [call('span'), call('log')];
    const kinds = (...given: Given[]) => readAll(given.map((each, at) => [String(at), each] as const));
    expect(kinds(span, log, log, span)).toEqual(['event', 'observation', 'event', 'observation']);
    expect(kinds(log, log, span, span, span)).toEqual([
      'event',
      'event',
      'observation',
      'observation',
      'event',
    ]);
  });

  it('of a call of a model with an id is compared by its number with those alone that have none', () => {
    const [span, log] = [call('span'), call('log')];
    const [namedSpan, namedLog] = [span, log].map((each): Given => ({ ...each, isNamed: true }) as Given);
    const kinds = (...given: (Given | undefined)[]) =>
      readAll(given.map((each, at) => [String(at), each!] as const));
    // its id says whose call it is
    expect(kinds(namedLog, namedSpan, namedSpan)).toEqual(['event', 'event', 'event']);
    expect(kinds(namedLog, span, namedLog, span)).toEqual(['event', 'observation', 'event', 'observation']);
    expect(kinds(span, namedLog, namedLog, span)).toEqual(['event', 'observation', 'event', 'observation']);
    // a state from before the ids were read
    expect(kinds(log, span, namedLog, namedSpan)).toEqual(['event', 'observation', 'event', 'event']);
  });

  it('of a prompt is an observation as often as others have it', () => {
    const given = ['0', '1', '2'].map((id) => [id, prompt] as const);
    expect(readAll(given, 2)).toEqual(['observation', 'observation', 'event']);
  });

  it('that an exporter repeats reads as before, and counts nothing', () => {
    const reports = [
      ['1', message('a')],
      ['2', message('b')],
      ['1', message('a')],
      ['2', message('b')],
      ['3', message('b')],
    ] as const;
    expect(readAll(reports)).toEqual(['event', 'repeat', 'event', 'repeat', 'event']);
  });

  it('keeps a bounded state', () => {
    const many = Array.from({ length: 200 }, (_, n) => [String(n), call('span')] as const);
    let before: ReportState | null = null;
    for (const [id, report] of many) before = readReport(report, { id, before, others: 0 }).state;
    expect(before!.recent).toHaveLength(64);
    expect(before!.counts).toEqual({ span: 200 });
  });
});

describe('the hash of content', () => {
  it('is that of its digest, and null where there is no text', () => {
    expect(contentHash('go')).toBe(digestOf('go').hash);
    expect(contentHash(digestOf('go'))).toBe(digestOf('go').hash);
    expect([undefined, null, ''].map(contentHash)).toEqual([null, null, null]);
  });
});
