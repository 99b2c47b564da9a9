import { describe, expect, it } from 'vitest';
import type { Balance } from '../../../../src/core/balance/statement.ts';
import type { Recordings } from '../../../../src/core/proofs/recordings.ts';
import { RecordingTally } from '../../../../src/service/reports/checks/recordings.ts';
import { sampleBalance } from '../../../core/balance/sample.ts';
import { judged } from '../../../../src/service/reports/checks/verdict.ts';

const run = (balances: readonly Balance[], more: Partial<Recordings> = {}): Recordings => ({
  balances: balances.map((balance, index) => ({ index, eventId: 'evt_1', balance })),
  unread: { first: -1, count: 0 },
  imported: {},
  uncovered: {},
  ...more,
});
function statusOf(runs: readonly Recordings[], leftOut = 0): [string, string] {
  const tally = new RecordingTally();
  for (const [at, each] of runs.entries()) tally.add(`run-${at}`, each);
  const { status, detail } = judged('balanced', tally.examined({ none: 'None.', leftOut }));
  return [status, detail];
}
const left = { ...sampleBalance, found: { calls: 2 }, leftOut: { calls: 1, parts: 1 } };
const empty = { ...sampleBalance, found: {}, recorded: {} };

describe('the check of recordings', () => {
  it('passes where a balance that could have failed comes out', () => {
    expect(statusOf([run([sampleBalance])])).toEqual([
      'pass',
      '1 of 1 file, nothing left out, by the word of the importer.',
    ]);
  });

  it('is not shown without a balance, or where no scanner found anything', () => {
    expect(statusOf([])).toEqual(['not_shown', 'None.']);
    expect(statusOf([run([empty])])).toEqual([
      'not_shown',
      'None. In 1 file the scanner finds nothing to compare.',
    ]);
  });

  it('is not shown where a run has recordings without a balance, or was not read', () => {
    const [status, detail] = statusOf([run([sampleBalance]), run([], { uncovered: { calls: 1 } })]);
    expect([status, detail]).toEqual([
      'not_shown',
      expect.stringContaining('run-1 has recordings without a balance.'),
    ]);
    expect(statusOf([run([sampleBalance], { unread: { first: 3, count: 1 } })])[0]).toBe('not_shown');
    expect(statusOf([run([sampleBalance])], 1)).toEqual([
      'not_shown',
      expect.stringContaining('1 run was not compared.'),
    ]);
  });

  it('fails for what is left out, and names file, run and command', () => {
    expect(statusOf([run([sampleBalance]), run([left])])).toEqual([
      'fail',
      '1 of 2 files; left out: 1 part with 1 call, by the word of the importer. Not whole: s.jsonl (run-1). gov runs balance run-1 shows what is left out.',
    ]);
    expect(statusOf([run([{ ...empty, leftOut: { parts: 1 } }])])[0]).toBe('fail');
  });
});
