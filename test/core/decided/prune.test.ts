/** The leaf of a pruning: a known answer, texts that are none, and what is pruned. */
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { draftPrune, prunableSql, readPrune } from '../../../src/core/decided/prune.ts';
import { sealEvent } from '../../../src/core/events/record.ts';
import { event } from '../../store/support/fixture.ts';

const prune = {
  minIndex: 900,
  rootAtMinIndex: `sha256:${'a'.repeat(64)}`,
  archiveHash: `sha256:${'b'.repeat(64)}`,
  archiveSize: 12,
  reasonCode: 'operator',
  prunedAt: '2026-01-01T00:00:00.000Z',
};

describe('the leaf of a pruning', () => {
  it('the leaf of a pruning says below which leaf, with which root, and where the archive is', () => {
    const { record } = draftPrune(prune);
    expect(record).toBe(
      `{"_sd":[],"_sd_alg":"sha-256","archiveHash":"${prune.archiveHash}","archiveSize":12,"minIndex":900,` +
        `"prunedAt":"2026-01-01T00:00:00.000Z","reasonCode":"operator","rootAtMinIndex":"${prune.rootAtMinIndex}",` +
        '"type":"gov.prune/1"}',
    );
    expect(readPrune(record)).toMatchObject(prune);
    for (const text of [
      '',
      '{"type":"gov.prune/1"}',
      record.replace('900', '"900"'),
      record.replace('gov.prune', 'gov.x'),
    ])
      expect(readPrune(text)).toBeNull();
  });
});

describe('prunable records', () => {
  const recordOf = (runId: string) =>
    sealEvent(event({ runId }), { index: 1, runSeq: 0, serverMs: 0, random: 1 }).record;

  it.each([
    [recordOf('r1'), true],
    [recordOf('gov.tools'), true],
    [recordOf('gov.system'), false],
    [draftPrune(prune).record, false],
    ['', false],
    ['{}', false],
  ])('the SQL says whether %s is prunable', (record, expected) => {
    const db = new Database(':memory:');
    expect(
      db
        .prepare(`SELECT ${prunableSql('r')} FROM (SELECT ? AS r)`)
        .pluck()
        .get(record),
    ).toBe(Number(expected));
    db.close();
  });
});
