/** `gov log losses ack`. Tested by `test/cli/commands/log/losses.test.ts`. */
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { logLossesAck as spec } from '../../specs/prove/log.ts';
import { plainView } from '../../terminal/view.ts';
import { counted } from '../../terminal/numbers.ts';

export const run: Run<typeof spec> = async ({ flags, io, out, session }) => {
  const { ackLosses } = await import('../../../host/data/losses.ts');
  const acknowledged = ackLosses(resolve(io.cwd, flags.data ?? session.dataDir()));
  if (!out.isHuman) return out.one(acknowledged, plainView(['losses', 'lost']));
  const { losses, lost } = acknowledged;
  const what = `${counted(losses, 'loss', 'losses')} of ${counted(lost, 'leaf', 'leaves')}`;
  await out.line(safe`${out.styles.green('✓')} acknowledged: ${what}`);
};
