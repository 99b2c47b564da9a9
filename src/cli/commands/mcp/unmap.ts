/** `gov mcp unmap SERVER TOOL`. Tested by `test/cli/commands/mcp/map.test.ts` against a real plane. */
import { mapPolicyId } from '../../../core/action/money.ts';
import type { Run } from '../../context/command.ts';
import { publishMaps, readMaps } from '../../mcp/money-maps.ts';
import { CliError, exit } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { mcpUnmap as spec } from '../../specs/decide/mcp.ts';

export const run: Run<typeof spec> = async ({ args, out, session }) => {
  const { server, tool } = args;
  const client = await session.client();
  const maps = await readMaps(client, server);
  if (!maps.delete(tool)) {
    const hint = maps.size === 0 ? 'no tool has one' : `tools: ${[...maps.keys()].join(', ')}`;
    const what = `expected a tool of ${server} with a map, got ${JSON.stringify(tool)}`;
    throw new CliError(exit.notFound, what, { code: 'NOT_FOUND', hint });
  }
  const version = await publishMaps(client, server, maps);
  const policyId = mapPolicyId(server);
  if (out.isHuman) return out.line(safe`${policyId} version ${version} is active: ${tool} has no map`);
  return out.json({ server, policyId, version, tool });
};
