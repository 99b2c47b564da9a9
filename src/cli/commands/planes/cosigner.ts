/**
 * `gov planes cosigner`: prints the key that signs the service's receipts.
 * Tested by `test/cli/commands/planes/create.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { planesCosigner as spec } from '../../specs/account/planes.ts';
import { plainView } from '../../terminal/view.ts';

/** Name of the service in the trust file. */
const witness = 'service';

export const run: Run<typeof spec> = async ({ flags, out, session }) => {
  const { body } = await (await session.client()).getCosigner();
  const { cosignerKey } = body;
  if (out.isJson || out.format === 'yaml') return out.one(body, plainView(['cosignerKey']));
  const lines = flags.trust ? [`witness ${witness} ${cosignerKey}`, `quorum ${witness}`] : [cosignerKey];
  return out.lines(lines.map((line) => safe`${line}`));
};
