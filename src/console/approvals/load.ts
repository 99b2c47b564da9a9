/** The approvals of the project, as the pages load them. Tested by `test/console/approvals.test.ts`. */
import type { Client } from '../../client/create.ts';
import type { ApprovalFilter, ShownApproval } from '../../contract/approvals.ts';
import { limits } from '../../contract/limits.ts';

/** Milliseconds between looks for new approvals. */
export const everyMs = 3000;

/** More pages of waiting approvals are not read: nobody decides a thousand at once. */
const mostPages = 10;

/** All waiting approvals, oldest first. */
export async function waitingApprovals(
  client: Client,
  signal: AbortSignal,
): Promise<readonly ShownApproval[]> {
  const found: ShownApproval[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page++) {
    const query = { status: 'pending', limit: limits.pageMax, cursor } as const;
    const { body } = await client.listApprovals({ query, signal });
    found.push(...body.data);
    if (body.nextCursor === null) break;
    cursor = body.nextCursor;
  }
  return found.toReversed();
}

/** The newest approvals that have ended this way. */
export async function endedApprovals(
  client: Client,
  status: Exclude<ApprovalFilter, 'pending'>,
  signal: AbortSignal,
): Promise<readonly ShownApproval[]> {
  const { body } = await client.listApprovals({ query: { status, limit: limits.pageDefault }, signal });
  return body.data;
}

/** The newest decided approvals of the same tool, at most five. */
export async function similarApprovals(
  client: Client,
  { approvalId, tool }: ShownApproval,
  signal: AbortSignal,
): Promise<readonly ShownApproval[]> {
  const { body } = await client.listApprovals({ query: { limit: limits.pageMax }, signal });
  const isSimilar = (other: ShownApproval): boolean =>
    other.approvalId !== approvalId &&
    other.status !== 'pending' &&
    tool !== null &&
    other.tool?.name === tool.name &&
    other.tool.server === tool.server;
  return body.data.filter(isSimilar).slice(0, 5);
}
