/** The maps of money of an MCP server, in the policy `mcp-map.SERVER`. Tested by `test/cli/commands/mcp/map.test.ts`. */
import type { Client } from '../../client/create.ts';
import { GovApiError } from '../../client/errors.ts';
import { mapCondition, mapPolicyId, mapsIn } from '../../core/action/money.ts';
import type { MoneyMap } from '../../core/action/shape.ts';
import { shellWord } from '../../core/shell-word.ts';
import { CliError, exit } from '../program/exit.ts';

/** The maps in force, by tool. Errors: exit 1 for a policy that lists no maps. */
export async function readMaps(client: Client, server: string): Promise<Map<string, MoneyMap>> {
  const policyId = mapPolicyId(server);
  try {
    const { body } = await client.getPolicy({ params: { policyId } });
    if (body.active === null) return new Map();
    const maps = mapsIn(body.active.condition);
    if (maps !== null) return new Map(maps);
    throw new CliError(exit.error, `expected maps in policy ${policyId}, got another condition`, {
      hint: `see it with gov policy get ${shellWord(policyId)}`,
    });
  } catch (failure) {
    if (failure instanceof GovApiError && failure.status === 404) return new Map();
    throw failure;
  }
}

/** Returns the version in force. */
export async function publishMaps(
  client: Client,
  server: string,
  maps: ReadonlyMap<string, MoneyMap>,
): Promise<number> {
  const policyId = mapPolicyId(server);
  const proposed = { condition: mapCondition(maps), action: 'allow' } as const;
  try {
    await client.addPolicyVersion({ params: { policyId }, body: proposed });
  } catch (failure) {
    if (!(failure instanceof GovApiError) || failure.status !== 404) throw failure;
    await client.createPolicy({ body: { policyId, name: `money of the tools of ${server}`, ...proposed } });
  }
  const { body } = await client.publishPolicy({ params: { policyId }, body: {} });
  return body.activeVersion;
}
