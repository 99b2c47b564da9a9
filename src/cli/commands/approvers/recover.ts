/** `gov approvers recover`. Tested by `test/cli/approvals/sealed.test.ts`. */
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { approverScopes, newSealedKey, plainFile, sealedFile } from '../../approvals/sealed.ts';
import type { Run } from '../../context/command.ts';
import type { approversRecover as spec } from '../../specs/decide/approvers.ts';
import { writeWhole } from '../../terminal/output-file.ts';
import { safe } from '../../terminal/safe.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ flags, io, out, session }) => {
  const { recoverApprover } = await import('../../../../plane/data/recover-approver.ts');
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  let text = '';
  const seal = async (token: string): Promise<string> => {
    const sealed = await newSealedKey(token);
    ({ text } = sealed);
    return sealed.publicKey;
  };
  const recovered = await recoverApprover(dataDir, { scopes: approverScopes, seal });
  writeWhole(sealedFile(dataDir), Buffer.from(text), 0o600);
  rmSync(plainFile(dataDir), { force: true });
  if (!out.isHuman) return out.one(recovered, plainView(Object.keys(recovered)));
  await out.lines([
    safe`${out.styles.green('recovered')}  ${recovered.approverId}, for ${recovered.keyId}`,
    safe`  ${sealedFile(dataDir)}`,
    safe`  ${recovered.fingerprint}; the log and health name the recovery`,
  ]);
};
