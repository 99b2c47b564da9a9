import { describe, expect, it } from 'vitest';
import { coverageVerdicts, redVerdicts } from '../../../src/contract/coverage.ts';
import { stateOf } from '../../../src/core/coverage/state.ts';

const run = (counts: Record<string, number>, confirmed = 1, covered = true) =>
  stateOf({ covered, confirmed, counts });

describe('the state of a run', () => {
  it('is red for an alarm, amber for a call that may have run undecided, and else green', () => {
    const states = coverageVerdicts.map((verdict) => [
      verdict,
      run({ [verdict]: 1 }, 1, !redVerdicts.some((red) => red === verdict)),
    ]);
    expect(Object.fromEntries(states)).toEqual({
      denied_but_ran: 'red',
      mismatch: 'red',
      ungoverned: 'red',
      gap: 'red',
      unknown: 'amber',
      single_source: 'green',
      failed: 'green',
      user_refused: 'green',
      not_run: 'green',
      denied: 'green',
      governed: 'green',
    });
  });

  it('says where there is nothing to compare', () => {
    expect([run({}), run({ single_source: 2 }, 0), run({ unknown: 1 }, 0)]).toEqual([
      'no_calls',
      'one_source',
      'amber',
    ]);
  });
});
