/** `gov mcp pin SERVER [TOOL…]`. Tested by `test/cli/commands/mcp/pin.test.ts` against a real plane. */
import type { Client } from '../../../client/create.ts';
import { GovApiError } from '../../../client/errors.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { confirm } from '../../terminal/ask.ts';
import { safe, type Safe } from '../../terminal/safe.ts';
import { acceptedHashes } from '../../mcp/pins.ts';
import { pinCondition, pinPolicyId } from '../../mcp/pin-policy.ts';
import { readTools, type SeenTool } from '../../mcp/tools.ts';
import { nothingSeen } from './list.ts';
import type { mcpPin as spec } from '../../specs/decide/mcp.ts';
import { counted } from '../../terminal/numbers.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { args, out, session } = invocation;
  const { server } = args;
  const client = await session.client();
  const seen = await readTools(client, server);
  if (seen.length === 0) throw nothingSeen(server);
  const chosen = args.tools.length === 0 ? seen : args.tools.map((name) => toolNamed(name, seen));
  const accepted = new Map<string, string>();
  for (const pin of await acceptedHashes(client, server)) {
    const at = pin.lastIndexOf(' ');
    accepted.set(pin.slice(0, at), pin.slice(at + 1));
  }
  for (const { tool, newest } of chosen) accepted.set(tool, newest);
  for (const line of chosen.flatMap(shown)) await out.note(line);
  await confirm(
    `this accepts ${definitions(chosen.length)} of ${server}, and denies all others`,
    '--yes',
    invocation,
  );
  const version = await publish(client, server, accepted);
  const { tools, policyId } = {
    tools: chosen.map(({ tool, newest }) => ({ tool, definitionHash: newest })),
    policyId: pinPolicyId(server),
  };
  if (out.isHuman)
    return out.line(safe`${policyId} version ${version} is active: ${definitions(chosen.length)} accepted`);
  return out.json({ server, policyId, version, tools });
};

function toolNamed(name: string, seen: readonly SeenTool[]): SeenTool {
  const found = seen.find(({ tool }) => tool === name);
  if (found !== undefined) return found;
  throw new CliError(
    exit.notFound,
    `expected a tool that the server has listed, got ${JSON.stringify(name)}`,
    {
      code: 'NOT_FOUND',
      hint: `tools: ${seen.map(({ tool }) => tool).join(', ')}`,
    },
  );
}

/** What a person accepts: the text of a changed definition, beside the pinned one. */
function shown({ tool, status, newest, pinned, definition, pinnedDefinition }: SeenTool): Safe[] {
  if (status !== 'changed') return [safe`  ${tool}  ${newest}`];
  return [
    safe`  ${tool} has changed`,
    safe`- ${pinned}  ${pinnedDefinition ?? '(too large to record)'}`,
    safe`+ ${newest}  ${definition ?? '(too large to record)'}`,
  ];
}

/** Returns the version in force. */
async function publish(
  client: Client,
  server: string,
  accepted: ReadonlyMap<string, string>,
): Promise<number> {
  const policyId = pinPolicyId(server);
  const proposed = { condition: pinCondition(server, accepted), action: 'deny' } as const;
  try {
    await client.addPolicyVersion({ params: { policyId }, body: proposed });
  } catch (failure) {
    if (!(failure instanceof GovApiError) || failure.status !== 404) throw failure;
    const name = `definitions of the tools of ${server}`;
    await client.createPolicy({ body: { policyId, name, ...proposed } });
  }
  const { body } = await client.publishPolicy({ params: { policyId }, body: {} });
  return body.activeVersion;
}

const definitions = (count: number): string => counted(count, 'definition');
