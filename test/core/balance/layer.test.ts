import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../src/contract/events.ts';
import type { Balance } from '../../../src/core/balance/statement.ts';
import {
  recordingNames,
  recordingsLayer,
  RecordingsJudge,
  recordingsText,
} from '../../../src/core/proofs/recordings.ts';
import { asLeaves } from '../coverage/sessions.ts';
import { sampleBalance } from './sample.ts';

const event = (eventType: string, metadata: Record<string, unknown>): EventInput => ({
  runId: 'r',
  eventType,
  actor: { name: 'a' },
  action: 'do',
  timestamp: '2026-01-05T09:00:00Z',
  metadata,
});
const imported = (eventType = 'tool.call') => event(eventType, { timestampSource: 'source' });
const balance = (more: Partial<Balance> = {}) =>
  event('gov.balance/1', { ...sampleBalance, here: { calls: 1 }, ...more });
const left: Partial<Balance> = {
  source: { ...sampleBalance.source, name: 'other.jsonl' },
  found: { calls: 2 },
  remainder: [{ where: 'line 2 /message', why: 'a call (t1)', bytes: 9, hash: 'sha256:00' }],
  leftOut: { calls: 1, parts: 1 },
};

function layerOf(events: readonly EventInput[]) {
  const judge = new RecordingsJudge();
  for (const leaf of asLeaves(events)) judge.add(leaf);
  const recordings = judge.finish();
  const { verdict, claims, checks } = recordingsLayer(recordings);
  const failed = checks.filter(({ pass }) => !pass).map(({ id }) => id);
  return { verdict, claims, failed, text: recordingsText(claims), names: recordingNames(recordings) };
}

describe('the layer x-recordings', () => {
  it('keeps what a file left out, whatever another file of its name says', () => {
    const of = (more: object, rest: Partial<Balance> = {}) =>
      balance({ ...rest, source: { ...sampleBalance.source, ...more } });
    const first = of({ bytes: 10 }, { ...left, here: {} });
    const two = { found: { calls: 2 }, recorded: { calls: 2 } };
    for (const [later, whole] of [
      [of({ sha256: 'b'.repeat(64), bytes: 10 }, two), [1, 2]],
      [of({ sha256: 'b'.repeat(64), bytes: 11 }), [1, 2]],
      [of({ sha256: 'b'.repeat(64), bytes: 11 }, two), [1, 1]],
      [of({ bytes: 10 }), [1, 1]],
    ] as const) {
      const { claims, verdict } = layerOf([imported(), first, later]);
      expect(claims).toMatchObject({ whole: whole[0], recordings: { n: whole[1] } });
      expect(verdict).toBe(whole[0] === whole[1] ? 'pass' : 'fail');
    }
  });

  it('names the credentials whose word the balances are', () => {
    const of = (by: string, more: Partial<Balance> = {}) => balance({ ...more, 'gov.statedBy': by });
    const { claims, text } = layerOf([imported(), of('key_b')]);
    expect(claims).toMatchObject({ statedBy: ['key_b'] });
    expect(text).toBe('recordings balanced: 1 of 1 file, nothing left out, by the word of key_b');
    // another credential cannot say that a file was whole which one says was not
    const open = { found: { calls: 2 }, leftOut: { calls: 1, parts: 1 } };
    const forged = layerOf([imported(), of('key_a', open), of('key_b')]);
    expect(forged).toMatchObject({ verdict: 'fail', claims: { statedBy: ['key_a', 'key_b'], whole: 1 } });
    expect(layerOf([imported(), of('key_a', open), of('key_a')]).verdict).toBe('pass');
    expect(layerOf([imported(), of('key_b'), of('key_a', open)]).verdict).toBe('fail');
  });

  it('passes where each recording has a balance that comes out and leaves nothing out', () => {
    const found = layerOf([imported(), balance()]);
    expect(found).toMatchObject({ verdict: 'pass', failed: [], names: [] });
    expect(found.text).toBe(
      'recordings balanced: 1 of 1 file, nothing left out, by the word of the importer',
    );
    expect(found.claims).toMatchObject({
      recordings: { n: 1 },
      whole: 1,
      found: { calls: 1 },
      uncovered: {},
    });
  });

  it('does not run without a recording, without a balance, and where no balance compared anything', () => {
    expect(layerOf([event('tool.call', { toolCallId: '1' })])).toMatchObject({
      verdict: 'not_run',
      claims: { code: 'NO_RECORDING' },
      text: 'no recording',
    });
    expect(layerOf([imported()])).toMatchObject({
      verdict: 'not_run',
      claims: { code: 'RECORDING_WITHOUT_BALANCE' },
      text: 'recordings without a balance',
    });
    const own = { found: {}, unseen: [{ exception: 'own-words-of-the-format', calls: 1 }] };
    expect(layerOf([imported(), balance(own)])).toMatchObject({
      verdict: 'not_run',
      claims: { code: 'RECORDING_NOT_COUNTED' },
      text: 'recordings not compared: the scanner finds nothing in 1 file',
    });
  });

  it('fails where one recording has no balance: the run has more facts of recordings than its balances', () => {
    expect(layerOf([imported(), balance(), imported()])).toMatchObject({
      verdict: 'fail',
      failed: ['every_recording_has_a_balance'],
      claims: { code: 'RECORDING_WITHOUT_BALANCE', uncovered: { calls: 1 } },
      text: 'recordings balanced: 1 of 1 file, nothing left out; in no balance: 1 call, by the word of the importer',
    });
    // telemetry and programs that govern are no recordings
    const others = [
      event('tool.call', { timestampSource: 'source', importer: 'otlp' }),
      event('tool.call', { recordedBy: 'hook' }),
    ];
    expect(layerOf([imported(), balance(), ...others]).verdict).toBe('pass');
  });

  it('fails for what is left out, and names the file and the place', () => {
    const found = layerOf([imported(), imported(), balance(), balance(left)]);
    expect(found).toMatchObject({
      verdict: 'fail',
      failed: ['nothing_left_out'],
      claims: {
        code: 'RECORDING_LEFT_OUT',
        whole: 1,
        leftOut: { calls: 1, parts: 1 },
        firstFinding: { index: 3 },
      },
    });
    expect(found.names).toEqual([
      'LEFT OUT: other.jsonl: 0 of 1 file; left out: 1 part with 1 call; first: line 2 /message: a call (t1)',
    ]);
  });

  it('fails for sums that do not come out, and for an event of the type that is no balance', () => {
    expect(layerOf([imported(), balance({ found: { calls: 2 } })])).toMatchObject({
      failed: ['sums_come_out'],
      claims: { code: 'RECORDING_UNBALANCED', firstFinding: { index: 1 } },
    });
    expect(layerOf([imported(), event('gov.balance/1', { found: 'all' })])).toMatchObject({
      verdict: 'fail',
      failed: ['every_recording_has_a_balance'],
      claims: { unread: 1, firstFinding: { index: 1 } },
    });
  });

  it('the newest balance of a file counts, and claims that are not its own say nothing', () => {
    const grown = { found: { calls: 2 }, recorded: { calls: 2 }, here: { calls: 2 } };
    expect(layerOf([imported(), balance(), imported(), balance(grown)])).toMatchObject({
      verdict: 'pass',
      claims: { recordings: { n: 1 }, found: { calls: 2 } },
    });
    expect([recordingsText({}), recordingsText({ recordings: 'many' })]).toEqual([null, null]);
  });
});
