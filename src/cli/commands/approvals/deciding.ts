/** A person's decision on an approval, and how an approval is printed. */
import type { Approval, ApprovalOutcome } from '../../../contract/approvals.ts';
import type { Invocation } from '../../program/command.ts';
import type { Out } from '../../terminal/out.ts';
import { safe } from '../../terminal/safe.ts';
import type { approvalsApprove } from './spec.ts';
import { viewOf } from '../../terminal/answer-view.ts';

/** What both verbs are given. */
type Deciding = Pick<Invocation<typeof approvalsApprove>, 'args' | 'flags' | 'out' | 'session' | 'settings'>;

/** Errors: exit 4 for the key that asked, 6 where it was decided before. */
export async function decideApproval(
  { args, flags, out, session, settings }: Deciding,
  outcome: ApprovalOutcome,
): Promise<void> {
  const client = await session.client();
  const { approvalId } = args;
  const { body } = await client.decideApproval({
    params: { approvalId },
    body: { outcome, ...(flags.comment === undefined ? {} : { comment: flags.comment }) },
    idempotencyKey: settings.idempotencyKey,
  });
  await printApproval(out, body);
}

export async function printApproval(out: Out, approval: Approval): Promise<void> {
  if (!out.isHuman) return out.one(approval, viewOf('getApproval'));
  const { approvalId, status, decidedBy, reason, runId, comment } = approval;
  const { bold, green, red } = out.styles;
  const shown = status === 'approved' ? green(status) : red(status);
  await out.lines([
    safe`${bold(shown)}  ${approvalId}  run ${runId}${decidedBy === null ? '' : `  by ${decidedBy}`}`,
    safe`  ${reason}`,
    ...(comment === null ? [] : [safe`  ${comment}`]),
  ]);
}
