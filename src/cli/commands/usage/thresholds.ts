/** `gov usage thresholds [--set A,B]`. Tested by `test/cli/commands/usage/show.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import type { usageThresholds as spec } from '../../specs/account/usage.ts';
import { viewOf } from '../../terminal/answer-view.ts';

export const run: Run<typeof spec> = async ({ flags, out, session }) => {
  const percents = flags.set.map(percentOf);
  if (percents.length > limits.thresholds)
    throw usage(`--set: expected at most ${limits.thresholds} percentages, got ${percents.length}`);
  const client = await session.client();
  const { body } =
    percents.length === 0 ? await client.getThresholds() : await client.putThresholds({ body: { percents } });
  await out.one(body, viewOf('getThresholds'));
};

function percentOf(text: string): number {
  const percent = /^[0-9]{1,3}%?$/.test(text) ? Number.parseInt(text, 10) : Number.NaN;
  if (percent >= 1 && percent <= 100) return percent;
  throw usage(`--set: expected whole percentages from 1 to 100, got ${JSON.stringify(text.slice(0, 32))}`);
}
