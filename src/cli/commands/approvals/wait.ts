/**
 * `gov approvals wait ID`: exit 0 approved, 3 denied or expired, 8 at the deadline.
 * Tested by `test/cli/commands/tools/exec.test.ts`.
 */
import { shellWord } from '../../../core/shell-word.ts';
import { pause } from '../../../client/retry.ts';
import type { Run } from '../../context/command.ts';
import { printApproval } from '../../approvals/decide.ts';
import { reasonOf } from '../../approvals/standing.ts';
import { CliError, exit } from '../../program/exit.ts';
import type { approvalsWait as spec } from '../../specs/decide/approvals.ts';
import { defaultWaitMs } from '../../progress/waiting.ts';

const leastPauseMs = 200;
const mostPauseMs = 5000;

export const run: Run<typeof spec> = async ({ args, out, session, settings, signal }) => {
  const client = await session.client();
  const { approvalId } = args;
  const deadline = performance.now() + (settings.timeoutMs ?? defaultWaitMs);
  for (let delay = leastPauseMs; ; delay = Math.min(delay * 2, mostPauseMs)) {
    const { body } = await client.getApproval({ params: { approvalId } });
    if (body.status !== 'pending') {
      out.verdict = body.status === 'approved' ? exit.ok : exit.checkFailed;
      await printApproval(out, body, body);
      return out.verdict;
    }
    const left = deadline - performance.now();
    if (left <= 0) {
      throw new CliError(exit.pending, `nobody has decided ${approvalId} yet: ${reasonOf(body)}`, {
        code: 'PENDING',
        next: [`gov approvals approve ${shellWord(approvalId)}`],
      });
    }
    await pause(Math.min(delay, left), signal);
  }
};
