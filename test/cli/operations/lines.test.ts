import { describe, expect, it } from 'vitest';
import { backupText, fsckText, scrubText } from '../../../src/cli/operations/lines.ts';
import type { Integrity } from '../../../src/contract/operations.ts';

const at = '2026-11-27T13:30:00.000Z';
const none: Integrity = {
  status: 'ok',
  reasons: [],
  time: at,
  scrub: null,
  fsck: null,
  backup: null,
  checkpoints: [],
  clock: { reasons: [], newestAt: null },
  disk: null,
};
const scrub: NonNullable<Integrity['scrub']> = {
  state: 'waiting',
  startedAt: at,
  reading: null,
  nextAt: at,
  found: 0,
  findings: [],
  last: { startedAt: at, completedAt: at, leaves: 12, found: 0 },
};

describe('the integrity lines of gov plane status', () => {
  it('a plane that nobody looked after says so in each line', () => {
    expect([scrubText(none), fsckText(none), backupText(none)]).toEqual([
      'the log was not read again yet',
      'never run',
      'none known',
    ]);
    expect([scrubText(null), fsckText(null), backupText(null)]).toEqual([null, null, null]);
  });

  it('the scrub line says what was read, how far the pass is, and what is altered', () => {
    expect(scrubText({ ...none, scrub })).toBe(`whole, 12 leaves read until ${at}`);
    const reading = { tree: 'audit', read: 5, of: 10 } as const;
    expect(scrubText({ ...none, scrub: { ...scrub, state: 'reading', reading, last: null } })).toBe(
      'first pass; reading audit 5 of 10',
    );
    expect(scrubText({ ...none, scrub: { ...scrub, found: 2 } })).toContain('2 ALTERED places');
  });

  it('the backup line says its age and whether it is still there, and the fsck line what it found', () => {
    const backup = {
      createdAt: at,
      ageSeconds: 7200,
      out: '/b',
      withKeys: false,
      verified: true,
      present: true,
      leaves: 3,
    };
    expect(backupText({ ...none, backup })).toBe(`${at} (2 h ago), verified, /b`);
    expect(backupText({ ...none, backup: { ...backup, present: false } })).toContain('not there any more');
    const fsck = { at, ok: false, found: 3, leaves: 9, deep: true };
    expect(fsckText({ ...none, fsck })).toBe(`BROKEN in 3 places at ${at} (deep)`);
  });
});
