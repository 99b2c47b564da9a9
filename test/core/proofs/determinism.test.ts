import { describe, expect, it } from 'vitest';
import { openLeaf } from '../../../src/core/decided/leaf.ts';
import { draftReplay, openReplay, type ReplayRecord } from '../../../src/core/decided/replay.ts';
import { replayDeterminism, type ReplayFacts } from '../../../src/core/proofs/determinism.ts';
import { hashText } from '../../../src/core/hash.ts';
import { emptyRoot } from '../../../src/core/merkle/tree.ts';

const snapshot = { policyHash: 'p', modelRoute: 'm', toolRegistryHash: 't', configStateHash: 'c' };
const none = { n: 0, root: hashText(emptyRoot) };
const replay: ReplayRecord = {
  replayId: 'rpl_1',
  runId: 'r',
  kind: 'decisions',
  treeSize: 20,
  steps: 9,
  replayed: 3,
  notReplayable: 1,
  mismatches: none,
  warnings: 1,
  driftCount: 2,
  at: '2026-01-01T00:00:00.000Z',
  snapshot,
  drift: { n: 2, root: 'sha256:x' },
  result: `sha256:${'c'.repeat(64)}`,
};
const judge = (members: Partial<ReplayRecord> = {}, facts: Partial<ReplayFacts> = {}) =>
  replayDeterminism({
    index: 20,
    replay: { ...replay, ...members },
    snapshot: { index: 5, snapshot },
    recordedSince: 0,
    ...facts,
  });
const failed = (...args: Parameters<typeof judge>): string[] =>
  judge(...args)
    .checks.filter(({ pass }) => !pass)
    .map(({ id }) => id);

describe('replay determinism', () => {
  it('replay determinism passes for a replay of the run snapshot without a mismatch', () => {
    expect(judge()).toMatchObject({
      claims: { replayId: 'rpl_1', replayIndex: 20, snapshotIndex: 5, replayed: 3, notReplayable: 1 },
      verdict: 'pass',
    });
    expect(judge({ snapshot: null }, { snapshot: null }).verdict).toBe('pass');
  });

  it('replay determinism fails with the name of each violated check', () => {
    expect(failed({ mismatches: { ...none, n: 1 } })).toEqual(['zero_mismatches']);
    expect(failed({ snapshot: { ...snapshot, modelRoute: 'other' } })).toEqual(['snapshot_matches_run']);
    expect(failed({ snapshot: null })).toEqual(['snapshot_matches_run']);
    expect(failed({}, { snapshot: null })).toEqual(['snapshot_matches_run']);
    expect(failed({}, { recordedSince: 1 })).toEqual(['covers_run']);
  });

  it('replay determinism fails when nothing could be replayed, and is vacuous without decisions', () => {
    expect(failed({ replayed: 0, notReplayable: 4 })).toEqual(['some_decision_replayed']);
    expect(judge({ replayed: 0, notReplayable: 0 })).toMatchObject({
      claims: { code: 'NO_DECISION_REPLAYED', vacuous: true },
      verdict: 'pass',
    });
  });

  it('a recorded replay is read back from its leaf', () => {
    const { record, disclosures } = draftReplay(replay, () => 'A'.repeat(22));
    expect(openReplay(openLeaf({ index: 20, record, disclosures }))).toEqual(replay);
    expect(record).not.toContain('sha256:x');
    expect(openReplay(openLeaf({ index: 20, record, disclosures: null }))).toEqual({
      ...replay,
      snapshot: null,
      drift: null,
      result: null,
    });
  });
});
