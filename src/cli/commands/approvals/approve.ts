/** `gov approvals approve ID`. */
import type { Run } from '../../program/command.ts';
import { decideApproval } from './deciding.ts';
import type { approvalsApprove as spec } from './spec.ts';

export const run: Run<typeof spec> = (invocation) => decideApproval(invocation, 'approved');
