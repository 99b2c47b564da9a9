/** Tested by `test/cli/commands/approvals/show.test.ts`. */
import type { Approval } from '../../contract/approvals.ts';
import { relativeTime } from '../terminal/table.ts';

/** How long it waits, who decided, and whether it was used. */
export function standing(
  { status, requestedAt, expiresAt, decidedBy, decidedAt, comment, used }: Approval,
  now: number,
): string {
  if (status === 'pending')
    return `asked ${relativeTime(requestedAt, now)}, expires ${relativeTime(expiresAt, now)}`;
  if (decidedBy === null || decidedAt === null) return `at ${expiresAt}`;
  const use =
    status === 'denied'
      ? ''
      : used === null
        ? `; not used, expires ${relativeTime(expiresAt, now)}`
        : `; used by ${used.evaluationId} at ${used.at}`;
  return `by ${decidedBy} at ${decidedAt}${comment === null ? '' : `: ${comment}`}${use}`;
}
