import { describe, expect, it } from 'vitest';
import { parseRunFile } from '../../../src/core/planes/run-file.ts';

const facts = {
  pid: 7,
  baseUrl: 'http://127.0.0.1:7460/api/v1',
  metricsUrl: null,
  startedAt: '2026-01-05T09:00:00.000Z',
  version: '0.1.0',
  configHash: `sha256:${'0'.repeat(64)}`,
};

describe('parseRunFile', () => {
  it('parseRunFile reads what a serving process wrote, and no other member', () => {
    expect(parseRunFile(`${JSON.stringify({ ...facts, later: 1 })}\n`)).toEqual(facts);
    expect(parseRunFile(JSON.stringify({ ...facts, metricsUrl: 'http://127.0.0.1:1' }))).toEqual({
      ...facts,
      metricsUrl: 'http://127.0.0.1:1',
    });
  });

  it.each([
    '',
    '{"pid":7',
    'null',
    '[]',
    '"text"',
    '{"pid":"7","baseUrl":1,"metricsUrl":false}',
    '{"pid":1.5}',
  ])('parseRunFile finds nothing in %j', (text) => {
    expect(parseRunFile(text)).toEqual({});
  });
});
