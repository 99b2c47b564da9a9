/** `gov risk config set FILE`. Tested by `test/cli/commands/policy/change.test.ts`. */
import type { RiskConfigInput } from '../../../contract/risk.ts';
import type { Run } from '../../context/command.ts';
import { objectOf, readInput } from '../../terminal/input.ts';
import type { riskConfigSet as spec } from '../../specs/decide/risk.ts';
import { viewOf } from '../../terminal/answer-view.ts';

export const run: Run<typeof spec> = async ({ args, out, io, session, signal }) => {
  const config = objectOf(await readInput(args.file, { io, signal }));
  const client = await session.client();
  // the service checks the configuration against its schema
  const { body } = await client.putRiskConfig({ body: config as unknown as RiskConfigInput });
  await out.one(body, viewOf('getRiskConfig'));
};
