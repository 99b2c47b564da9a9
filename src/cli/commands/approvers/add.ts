/** `gov approvers add NAME --ssh-key FILE`. Tested by `test/cli/commands/approvals/sign.test.ts`. */
import { publicKeyOf } from '../../approvals/sign.ts';
import type { Run } from '../../context/command.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import { safe } from '../../terminal/safe.ts';
import type { approversAdd as spec } from '../../specs/decide/approvers.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session }) => {
  const publicKey = publicKeyOf(flags.sshKey);
  const client = await session.client();
  const { principal } = flags;
  const { body } = await client.enrolApprover({
    body: { name: args.name, ssh: { publicKey }, ...(principal === undefined ? {} : { principal }) },
  });
  if (!out.isHuman) return out.one(body, viewOf('getApprover'));
  await out.lines([
    safe`${out.styles.green('enrolled')}  ${body.approverId}  ${body.name}, for ${body.principal}`,
    safe`  ${body.fingerprint}, leaf ${body.sequence} of the log`,
  ]);
};
