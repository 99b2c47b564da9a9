/** `gov approvals export ID --out DIR`. Tested by `test/cli/commands/approvals/sign.test.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../../files/make-folder.ts';
import { signatureFiles, verifyCommands } from '../../approvals/files.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { approvalsExport as spec } from '../../specs/decide/approvals.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session }) => {
  const client = await session.client();
  const { body } = await client.getApproval({ params: args });
  const { signature } = body;
  if (signature === null) {
    const detail = `expected a signed approval, got ${args.approvalId}, ${body.status} without a signature`;
    throw new CliError(exit.checkFailed, detail, { code: 'NOT_SIGNED' });
  }
  const approver = await client.getApprover({ params: { approverId: signature.approverId } });
  makeFolder(flags.out);
  const files = signatureFiles(signature, approver.body);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(flags.out, name), content);
  await out.note(safe`wrote ${Object.keys(files).join(', ')} to ${flags.out}; verify them there:`);
  await out.lines(verifyCommands(signature, approver.body).map((line) => safe`${line}`));
};
