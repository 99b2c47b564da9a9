/**
 * `gov approvals show ID`: what a person has to know to decide. On a terminal a long value is clipped, so that it does
 * not hide the others. Tested by `test/cli/commands/approvals/show.test.ts`.
 */
import type { ShownApproval } from '../../../contract/approvals.ts';
import { signedText, standing } from '../../approvals/standing.ts';
import type { Run } from '../../program/command.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import { clipped } from '../../terminal/clipped.ts';
import type { Out } from '../../terminal/out.ts';
import { safe, type Safe } from '../../terminal/safe.ts';
import type { approvalsShow as spec } from './spec.ts';

/** More members of arguments or context are counted, not listed. */
const listed = 30;

export const run: Run<typeof spec> = async ({ args, io, out, session }) => {
  const client = await session.client();
  const { body } = await client.getApproval({ params: { approvalId: args.approvalId } });
  return out.isHuman ? out.lines(card(body, io.now(), out)) : out.one(body, viewOf('getApproval'));
};

function card(approval: ShownApproval, now: number, { styles }: Out): Safe[] {
  const { approvalId, runId, requestedBy, tool, actor, policies } = approval;
  const { bold, dim } = styles;
  const server = tool?.server === undefined ? '' : ` on ${tool.server}`;
  return [
    safe`${bold(approval.status)}  ${approvalId}  ${standing(approval, now)}`,
    safe`${signedText(approval)}`,
    ...(tool === null ? [] : [safe`${bold(tool.name)}${server}`]),
    safe`run ${runId}, key ${requestedBy}${actor === null ? '' : `, actor ${clipped(actor)}`}`,
    ...policies.map(({ policyId, version, reasoning }) => safe`${policyId} v${version ?? '?'}: ${reasoning}`),
    ...members('arguments', approval.arguments, bold),
    ...members('context', approval.context, bold),
    dim(
      safe`asked at ${approval.requestedAt} by evaluation ${approval.evaluationId}; -o json shows everything`,
    ),
  ];
}

function members(
  title: string,
  of: Readonly<Record<string, unknown>> | null,
  bold: Out['styles']['bold'],
): Safe[] {
  if (of === null) return title === 'arguments' ? [] : [safe`${bold(title)} erased`];
  const entries = Object.entries(of);
  if (entries.length === 0) return [];
  const lines = entries.slice(0, listed).map(([name, value]) => safe`  ${clipped(name)}: ${clipped(value)}`);
  const more = entries.length - lines.length;
  return [safe`${bold(title)}`, ...lines, ...(more > 0 ? [safe`  … ${more} more`] : [])];
}
