/** A person's decision on an approval, and its output. Tested by `test/cli/commands/tools/exec.test.ts`. */
import type { Client } from '../../client/create.ts';
import { GovApiError } from '../../client/errors.ts';
import type {
  Approval,
  ApprovalOutcome,
  ApprovalSignature,
  ShownApproval,
} from '../../contract/approvals.ts';
import { hiddenNotices } from '../../core/hidden-text.ts';
import type { Invocation } from '../context/command.ts';
import type { Out } from '../terminal/out.ts';
import { safe } from '../terminal/safe.ts';
import type { approvalsApprove } from '../specs/decide/approvals.ts';
import { viewOf } from '../terminal/answer-view.ts';
import { namedId, reasonOf, signedText, type EscalationReason } from './standing.ts';

/** The input that `approve` and `deny` share. */
type DecideCall = Pick<
  Invocation<typeof approvalsApprove>,
  'args' | 'flags' | 'out' | 'session' | 'settings' | 'io'
>;

/** A decision as it is sent. */
interface Decision {
  readonly client: Client;
  /** Absent: the decision rests on the key of the client. */
  readonly signature?: ApprovalSignature | undefined;
}

/** Errors: exit 4 for the key that asked, 6 if the approval was decided before. */
export async function decideApproval(call: DecideCall, outcome: ApprovalOutcome): Promise<void> {
  const { flags, session, io } = call;
  const client = await session.client();
  if (flags.sign === true || flags.sshKey !== undefined) {
    // signing is rare, and a decision by key needs nothing of it
    const { signedBy, sshSigner } = await import('./sign.ts');
    const signer = sshSigner(flags.sshKey, io.env);
    return send(call, outcome, { client, signature: await signedBy(call, outcome, { client, signer }) });
  }
  const { decidesSealed, sealedDecision } = await import('./sealed-decision.ts');
  const dataDir = decidesSealed(call);
  if (dataDir === null) return send(call, outcome, { client });
  if (outcome === 'approved') return send(call, outcome, await sealedDecision(call, outcome, dataDir));
  try {
    await send(call, outcome, { client });
  } catch (cause) {
    // the operator's key asked
    if (!(cause instanceof GovApiError && cause.status === 403)) throw cause;
    await send(call, outcome, await sealedDecision(call, outcome, dataDir));
  }
}

async function send(
  { args, flags, out, settings }: DecideCall,
  outcome: ApprovalOutcome,
  { client, signature }: Decision,
): Promise<void> {
  const { approvalId } = args;
  // signing shows it itself
  const shown = signature === undefined ? await shownApproval(client, approvalId) : null;
  if (shown !== null && outcome === 'approved')
    for (const notice of hiddenNotices(shown)) await out.warn(safe`${notice}`);
  const { body } = await client.decideApproval({
    params: { approvalId },
    body: {
      outcome,
      ...(flags.comment === undefined ? {} : { comment: flags.comment }),
      ...(signature === undefined ? {} : { signature }),
    },
    idempotencyKey: settings.idempotencyKey,
  });
  await printApproval(out, body, shown ?? body);
}

/** The call with its policies, before the decision is sent. Null for a key without `governance:read`. */
async function shownApproval(client: Client, approvalId: string): Promise<ShownApproval | null> {
  try {
    return (await client.getApproval({ params: { approvalId } })).body;
  } catch (cause) {
    if (cause instanceof GovApiError && cause.status === 403) return null;
    throw cause;
  }
}

/** `asked`: what is known of the request; the response to a decision does not name the policies. */
export async function printApproval(out: Out, approval: Approval, asked: EscalationReason): Promise<void> {
  if (!out.isHuman) return out.one(approval, viewOf('getApproval'));
  const { approvalId, status, decidedBy, decidedByName, runId, comment } = approval;
  const by = decidedBy === null ? '' : `  by ${namedId(decidedBy, decidedByName)}`;
  const { bold, green, red } = out.styles;
  const shown = status === 'approved' ? green(status) : red(status);
  await out.lines([
    safe`${bold(shown)}  ${approvalId}  run ${runId}${by}`,
    safe`  ${reasonOf(asked)}`,
    ...(comment === null ? [] : [safe`  ${comment}`]),
    safe`  ${signedText(approval)}`,
  ]);
}
