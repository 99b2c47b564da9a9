/**
 * `gov hook CLIENT` for words that `../../agents/hook-entry.ts` leaves to the parser, such as `--config=FILE`.
 * Tested by `test/cli/agents/hook.test.ts`.
 */
import { agentClients } from '../../../core/agents/clients.ts';
import { userConnectionFile } from '../../agents/connection-file.ts';
import { hook } from '../../agents/hook.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import type { hook as spec } from '../../specs/decide/hook.ts';

export const run: Run<typeof spec> = ({ args, flags, io }) => {
  const client = agentClients.find((each) => each === args.client);
  if (client === undefined)
    throw usage(
      `expected one of ${agentClients.join(', ')}, got ${JSON.stringify(args.client.slice(0, 64))}`,
    );
  return hook({
    client,
    config: flags.config ?? userConnectionFile(io.env),
    fail: flags.fail === 'open' ? 'open' : 'closed',
    hold: flags.hold ?? 0,
  });
};
