/** `gov planes cosigner`: by which key the service signs receipts. `test/cli/planes.test.ts` proves it. */
import type { Run } from '../command.ts';
import { safe } from '../safe.ts';
import type { planesCosigner as spec } from '../specs/planes.ts';
import { plainView } from '../view.ts';

/** As a trust file calls it. */
const witness = 'service';

export const run: Run<typeof spec> = async ({ flags, out, session }) => {
  const { body } = await (await session.client()).getCosigner();
  const { cosignerKey } = body;
  if (out.isJson || out.format === 'yaml') return out.one(body, plainView(['cosignerKey']));
  const lines = flags.trust ? [`witness ${witness} ${cosignerKey}`, `quorum ${witness}`] : [cosignerKey];
  return out.lines(lines.map((line) => safe`${line}`));
};
