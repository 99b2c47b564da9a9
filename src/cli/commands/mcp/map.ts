/** `gov mcp map SERVER TOOL amount=/POINTER …`. Tested by `test/cli/commands/mcp/map.test.ts` against a real plane. */
import { isPointer, mapPolicyId, moneyMapIn, moneyMapMembers } from '../../../core/action/money.ts';
import type { MoneyMap } from '../../../core/action/shape.ts';
import type { Run } from '../../context/command.ts';
import { publishMaps, readMaps } from '../../mcp/money-maps.ts';
import { usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { mcpMap as spec } from '../../specs/decide/mcp.ts';

export const run: Run<typeof spec> = async ({ args, out, session }) => {
  const { server, tool, members } = args;
  const map = mapOf(members);
  const client = await session.client();
  const maps = await readMaps(client, server);
  const version = await publishMaps(client, server, maps.set(tool, map));
  const policyId = mapPolicyId(server);
  if (out.isHuman) return out.line(safe`${policyId} version ${version} is active: ${tool} has money`);
  return out.json({ server, policyId, version, tool, map: { ...map } });
};

/** Errors: exit 2 for anything but an amount, a currency and a counterparty, each once, with a JSON pointer. */
function mapOf(words: readonly string[]): MoneyMap {
  const members = new Map<string, string>();
  for (const word of words) {
    const [name = '', pointer = ''] = word.split(/=(.*)/s, 2);
    if (!moneyMapMembers.some((each) => each === name))
      throw usage(`expected amount=, currency= or counterparty=, got ${JSON.stringify(word)}`);
    if (members.has(name)) throw usage(`expected ${name} once, got it twice`);
    if (!isPointer(pointer))
      throw usage(`expected a JSON pointer such as ${name}=/${name}, got ${JSON.stringify(word)}`);
    members.set(name, pointer);
  }
  const map = moneyMapIn(Object.fromEntries(members));
  if (map === null) throw usage('expected amount=/POINTER, got none');
  return map;
}
