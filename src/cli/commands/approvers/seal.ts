/** `gov approvers seal`. Tested by `test/cli/approvals/sealed.test.ts`. */
import { makeSealedKey, sealedFile } from '../../approvals/sealed.ts';
import type { Run } from '../../context/command.ts';
import type { approversSeal as spec } from '../../specs/decide/approvers.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import { safe } from '../../terminal/safe.ts';

export const run: Run<typeof spec> = async ({ out, session }) => {
  const dataDir = session.dataDir();
  const { approver } = await makeSealedKey(await session.client(), dataDir);
  if (!out.isHuman) return out.one(approver, viewOf('getApprover'));
  await out.lines([
    safe`${out.styles.green('enrolled')}  ${approver.approverId}, for ${approver.principal}`,
    safe`  ${sealedFile(dataDir)}`,
    safe`  ${approver.fingerprint}, leaf ${approver.sequence} of the log`,
  ]);
};
