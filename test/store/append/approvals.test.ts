import { describe, expect, it } from 'vitest';
import { decideApproval, type ApprovalRows } from '../../../src/store/append/approvals.ts';

const day = 86_400_000;
const unused = (): never => {
  throw new Error('expected no write');
};
const rows: ApprovalRows = {
  approval: () => ({ expiresMs: day, decision: null, used: null }),
  newestOfCall: () => null,
  openApproval: unused,
  decideApproval: unused,
  useApproval: unused,
};

describe('an expired approval', () => {
  it.each([
    ['by the clock', day, 0, 'evaluate again to open another one'],
    [
      'by the log alone, where a new one would expire too',
      1,
      day,
      'the log is at 1970-01-02T00:00:00.000Z and the clock is behind it: set the clock right, or wait',
    ],
  ])('is refused with what helps: %s', (_what, atMs, serverMs, next) => {
    const effect = {
      kind: 'decideApproval',
      approvalId: 'apr_1',
      outcome: 'approved',
      by: 'k',
      comment: null,
      atMs,
    } as const;
    expect(() => decideApproval(rows, effect, serverMs)).toThrow(
      `expected a pending approval, got apr_1, expired at 1970-01-02T00:00:00.000Z; ${next}`,
    );
  });
});
