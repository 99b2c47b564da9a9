/** Counts of a replay, and the commitment to what diverged. */
import { describe, expect, it } from 'vitest';
import type { StepStatus } from '../../../src/contract/replay-words.ts';
import { hashText } from '../../../src/core/hash.ts';
import { emptyRoot, leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';
import { ReplaySummary } from '../../../src/core/replay/summary.ts';

const steps = (...statuses: StepStatus[]) =>
  statuses.map((status, index) => ({ index, eventId: `evt_${index}`, status }));

function summarize(marks: ReturnType<typeof steps>): ReplaySummary {
  const summary = new ReplaySummary();
  for (const mark of marks) summary.add(mark);
  return summary;
}

describe('the summary of a replay', () => {
  it('a replay summary counts each status and names the first step that diverged', () => {
    const all = steps('match', 'not_replayable', 'match', 'extra', 'mismatch', 'missing', 'mismatch');
    expect(summarize(all).counts()).toEqual({
      steps: 7,
      match: 2,
      mismatch: 2,
      missing: 1,
      extra: 1,
      notReplayable: 1,
      firstDivergence: 3,
    });
  });

  it('a replay summary has no divergence when steps match or could not be replayed', () => {
    const summary = summarize(steps('match', 'not_replayable'));
    expect(summary.counts()).toMatchObject({ steps: 2, notReplayable: 1, firstDivergence: null });
    expect(summary.mismatches()).toEqual({ n: 0, root: hashText(emptyRoot) });
  });

  it('a replay summary commits to its diverged steps in order, as an RFC 6962 root', () => {
    const rows = [
      '{"eventId":"evt_1","index":1,"status":"mismatch"}',
      '{"eventId":"evt_2","index":2,"status":"missing"}',
      '{"eventId":"evt_4","index":4,"status":"extra"}',
    ];
    const all = steps('match', 'mismatch', 'missing', 'not_replayable', 'extra');
    const root = hashText(merkleRoot(rows.map(leafHash)));
    expect(summarize(all).mismatches()).toEqual({ n: 3, root });
    expect(summarize(all.with(4, { ...all[4]!, eventId: 'evt_5' })).mismatches().root).not.toBe(root);
    expect(summarize(all.with(4, { ...all[4]!, status: 'missing' })).mismatches().root).not.toBe(root);
  });
});
