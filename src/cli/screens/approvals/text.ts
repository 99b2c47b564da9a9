/**
 * One approval in full, as lines of a screen: nothing of its arguments is cut. Attacker controlled.
 * Tested by `test/cli/screens/approvals.test.ts`.
 */
import type { ShownApproval } from '../../../contract/approvals.ts';
import { limits } from '../../../contract/limits.ts';
import { hiddenNotices, toolText } from '../../../core/hidden-text.ts';
import { partyName } from '../../runs/party.ts';
import { relativeTime } from '../../terminal/table.ts';
import { number } from '../../terminal/numbers.ts';
import { scalar, yamlLines } from '../../terminal/yaml.ts';
import { aboutDuration } from '../../../core/duration.ts';
import { shellWord } from '../../../core/shell-word.ts';
import { namedId } from '../../approvals/standing.ts';
import { textLines, type Text } from '../lists.ts';
import type { Common } from '../model.ts';

/** The lines from `scroll` on, and the greatest useful `scroll`. */
export const approvalText = (approval: ShownApproval, state: Common): Text =>
  textLines(approvalLines(approval, state.nowMs), state, Infinity);

/** Whether a call is too long to be read on a screen. */
export const isTooLong = ({ arguments: given, context }: ShownApproval): boolean =>
  bytesOf(given) + bytesOf(context) > limits.approvalShownBytes;

const bytesOf = (value: object | null): number => Buffer.byteLength(JSON.stringify(value));

/** How to read a call that is too long. */
export const longCall = ({ approvalId }: ShownApproval): string =>
  `read it with gov approvals show ${shellWord(approvalId)} --signed, then use gov approvals approve ${shellWord(approvalId)}`;

function approvalLines(approval: ShownApproval, nowMs: number): string[] {
  const { tool, actor, runId, requestedBy, requestedByName, requestedAt, expiresAt } = approval;
  const { policies, evaluationId } = approval;
  const agent = partyName(actor);
  const waits = aboutDuration(nowMs - Date.parse(requestedAt));
  const parts = [
    ...memberLines('arguments', approval.arguments),
    ...memberLines('context', approval.context),
  ];
  const bytes = number(bytesOf(approval.arguments) + bytesOf(approval.context));
  const tooLong = `the call has ${bytes} bytes, more than ${number(limits.approvalShownBytes)}: ${longCall(approval)}`;
  return [
    `tool     ${tool === null ? 'none' : toolText(tool)}`,
    `agent    ${agent === '' ? 'not named' : String(scalar(agent))}, with key ${namedId(requestedBy, requestedByName)}`,
    `run      ${runId}`,
    `waits    ${waits}, since ${requestedAt}; expires ${relativeTime(expiresAt, nowMs)}`,
    ...policies.flatMap(({ policyId, version, reasoning }) => [
      `policy   ${policyId} v${version ?? '?'}`,
      `clause   ${reasoning}`,
    ]),
    ...hiddenNotices(approval).map((notice) => `! ${notice}`),
    ...(isTooLong(approval) ? [tooLong] : parts),
    `evaluation ${evaluationId}`,
  ];
}

function memberLines(title: string, values: Readonly<Record<string, unknown>> | null): string[] {
  if (values === null) return [`${title}  erased`];
  if (Object.keys(values).length === 0) return [];
  return [title, ...yamlLines(values, '  ').map(String)];
}
