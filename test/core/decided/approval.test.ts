/** The leaf of a decided approval: who decided is in clear, the reason can be erased. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { draftApproval, openApproval } from '../../../src/core/decided/approval.ts';
import { openLeaf } from '../../../src/core/decided/leaf.ts';
import { saltPool } from '../../../src/core/events/disclosure.ts';

const decided = {
  id: 'apr_1',
  runId: 'run-1',
  evaluationId: 'pev_1',
  outcome: 'approved',
  approver: 'key_2',
  at: '2026-01-01T00:00:00.000Z',
} as const;
const draft = (reason: string | null) => draftApproval({ ...decided, reason }, saltPool(randomBytes));

describe('the leaf of a decided approval', () => {
  it.each(['the customer called', null])(
    'the leaf of a decided approval opens as the approval that it was made from: %s',
    (reason) => {
      expect(openApproval(openLeaf({ index: 5, ...draft(reason) }))).toEqual({ ...decided, reason });
    },
  );

  it('the leaf of a decided approval names who decided, and omits an erased reason', () => {
    const { record } = draft('the customer called');
    expect(record).not.toContain('customer');
    const erased = openApproval(openLeaf({ index: 5, record, disclosures: null }));
    expect(erased).toEqual({ ...decided, reason: undefined });
  });
});
