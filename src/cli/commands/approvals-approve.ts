/** `gov approvals approve ID`. */
import type { Run } from '../command.ts';
import { decideApproval } from '../deciding.ts';
import type { approvalsApprove as spec } from '../specs/approvals.ts';

export const run: Run<typeof spec> = (invocation) => decideApproval(invocation, 'approved');
