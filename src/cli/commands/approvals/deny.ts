/** `gov approvals deny ID`. */
import type { Run } from '../../program/command.ts';
import { decideApproval } from './deciding.ts';
import type { approvalsDeny as spec } from './spec.ts';

export const run: Run<typeof spec> = (invocation) => decideApproval(invocation, 'denied');
