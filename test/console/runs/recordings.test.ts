import { describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../../src/contract/events.ts';
import { sampleBalance } from '../../core/balance/sample.ts';
import { recordingWords } from '../../../src/console/runs/words.ts';

const event = (eventType: string, metadata: AuditEvent['metadata'], sequence = 1) =>
  ({ eventId: 'evt_1', eventType, metadata, sequence }) as AuditEvent;
const imported = event('tool.call', { timestampSource: 'source' });
const balance = (more: object = {}) =>
  event('gov.balance/1', {
    ...sampleBalance,
    here: { calls: 1 },
    source: { ...sampleBalance.source, name: 's\u202ejsonl' },
    ...more,
  });

describe('the line about recordings on the page of a run', () => {
  it('says that they balance, what is left out, and that one has no balance', () => {
    expect(recordingWords([imported, balance()])).toEqual({
      tone: 'good',
      verdict: 'balanced',
      line: 'recordings balanced: 1 of 1 file, nothing left out, by the word of the importer',
    });
    const left = recordingWords([
      imported,
      balance({ found: { calls: 2 }, leftOut: { calls: 1, parts: 1 } }),
    ]);
    expect(left).toMatchObject({ tone: 'bad', verdict: 'left out' });
    // a name of a file shows no control character
    expect(left?.line).toContain('left out: 1 part with 1 call: s');
    expect(left?.line).not.toContain('\u202e');
    expect(recordingWords([imported])).toMatchObject({ tone: 'wait', verdict: 'not balanced' });
    expect(recordingWords([imported, balance(), imported])).toMatchObject({
      tone: 'wait',
      line: expect.stringContaining('another recording has no balance'),
    });
  });

  it('is absent for a run without a recording', () => {
    expect(recordingWords([event('tool.call', { recordedBy: 'hook' })])).toBeNull();
  });
});
