/** `gov mcp maps SERVER`. Tested by `test/cli/commands/mcp/map.test.ts` against a real plane. */
import type { Run } from '../../context/command.ts';
import { readMaps } from '../../mcp/money-maps.ts';
import { safe } from '../../terminal/safe.ts';
import type { mcpMaps as spec } from '../../specs/decide/mcp.ts';

export const run: Run<typeof spec> = async ({ args, out, session }) => {
  const { server } = args;
  const maps = await readMaps(await session.client(), server);
  if (!out.isHuman) return out.json({ server, tools: [...maps].map(([tool, map]) => ({ tool, ...map })) });
  if (maps.size === 0) return out.note(safe`no tool of ${server} has a map; usual names count`);
  for (const [tool, { amount, currency = '-', counterparty = '-' }] of maps)
    await out.line(safe`${tool}  amount ${amount}  currency ${currency}  counterparty ${counterparty}`);
};
