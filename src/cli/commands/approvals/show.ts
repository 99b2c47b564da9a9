/**
 * `gov approvals show ID`: what a person has to know to decide. On a terminal a long value is clipped, so that it does
 * not hide the others. Tested by `test/cli/commands/approvals/show.test.ts`.
 */
import type { ShownApproval } from '../../../contract/approvals.ts';
import { readStatement } from '../../../core/approvals/statement.ts';
import { viewText } from '../../../core/decided/view.ts';
import { firstShownHash, shownHash } from '../../../core/decided/view-hash.ts';
import { hiddenCount, hiddenNotices, toolText } from '../../../core/hidden-text.ts';
import { namedId, signedText, standing } from '../../approvals/standing.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import { clipped } from '../../terminal/clipped.ts';
import { scalar } from '../../terminal/yaml.ts';
import type { Out } from '../../terminal/out.ts';
import { safe, type Safe } from '../../terminal/safe.ts';
import type { approvalsShow as spec } from '../../specs/decide/approvals.ts';

/** More members of arguments or context are counted, not listed. */
const listed = 30;

export const run: Run<typeof spec> = async ({ args, flags, io, out, session }) => {
  const client = await session.client();
  const { body } = await client.getApproval({ params: { approvalId: args.approvalId } });
  if (flags.signed === true) return printView(body, out);
  if (out.isHuman) return out.lines(card(body, io.now(), out));
  await out.one({ ...body, hidden: hiddenCount(body) }, viewOf('getApproval'));
  if (!out.isJson) for (const notice of hiddenNotices(body)) await out.warn(safe`${notice}`);
};

/** The view, and its hash. Errors: exit 3 where the statement that was signed has the hash of another one. */
async function printView(approval: ShownApproval, out: Out): Promise<void> {
  const statement = approval.signature === null ? null : readStatement(approval.signature.statement);
  const hash = shownHash(approval);
  const own = statement?.['view'] === 2 ? hash : firstShownHash(approval);
  if (statement !== null && statement['shownHash'] !== own) {
    const detail = `expected the view that was signed, ${String(statement['shownHash'])}, got ${own}: the project redacts other values now, or the service shows another call`;
    throw new CliError(exit.checkFailed, detail, { code: 'VIEW_DIFFERS' });
  }
  const view = viewText(approval);
  if (out.isJson) return out.json({ ...approval, view, shownHash: hash, hidden: hiddenCount(approval) });
  await out.line(safe`${view}`);
  await out.note(safe`shownHash ${hash}${statement === null ? '' : ', of what was signed'}`);
}

function card(approval: ShownApproval, now: number, { styles }: Out): Safe[] {
  const { approvalId, runId, requestedBy, requestedByName, tool, actor, policies } = approval;
  const { bold, dim, yellow } = styles;
  const hidden = hiddenNotices(approval).map((notice) => yellow(safe`! ${notice}`));
  return [
    safe`${bold(approval.status)}  ${approvalId}  ${standing(approval, now)}`,
    safe`${signedText(approval)}`,
    ...(tool === null ? [] : [bold(toolText(tool))]),
    safe`run ${runId}, key ${namedId(requestedBy, requestedByName)}${actor === null ? '' : `, actor ${clipped(actor)}`}`,
    ...policies.map(({ policyId, version, reasoning }) => safe`${policyId} v${version ?? '?'}: ${reasoning}`),
    ...hidden,
    ...members('arguments', approval.arguments, bold),
    ...members('context', approval.context, bold),
    dim(
      safe`asked at ${approval.requestedAt} by evaluation ${approval.evaluationId}; --signed shows everything`,
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
  const lines = entries.slice(0, listed).map(([name, value]) => safe`  ${scalar(name)}: ${valueText(value)}`);
  const more = entries.length - lines.length;
  return [safe`${bold(title)}`, ...lines, ...(more > 0 ? [safe`  … ${more} more`] : [])];
}

/** A text in quotes unless it is plain words; a long one, and one with members, as JSON from its beginning. */
const valueText = (value: unknown): Safe | string =>
  typeof value === 'string' ? (value.length > 200 ? clipped(value) : scalar(value)) : clipped(value);
