/** `gov risk config set FILE`. */
import type { RiskConfigInput } from '../../../contract/risk.ts';
import type { Run } from '../../program/command.ts';
import { objectOf, readInput } from '../../program/input.ts';
import type { riskConfigSet as spec } from './spec.ts';
import { viewOf } from '../../terminal/answer-view.ts';

export const run: Run<typeof spec> = async ({ args, out, io, session, signal }) => {
  const config = objectOf(await readInput(args.file, { io, signal }));
  const client = await session.client();
  // the service checks it against its schema, and says where
  const { body } = await client.putRiskConfig({ body: config as unknown as RiskConfigInput });
  await out.one(body, viewOf('getRiskConfig'));
};
