/** `gov approvals approve ID`. Tested by `test/cli/commands/tools/exec.test.ts`. */
import type { Run } from '../../context/command.ts';
import { decideApproval } from '../../approvals/decide.ts';
import type { approvalsApprove as spec } from '../../specs/decide/approvals.ts';

export const run: Run<typeof spec> = (invocation) => decideApproval(invocation, 'approved');
