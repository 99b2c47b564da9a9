/**
 * Lists for the sandboxes that clients have of their own, which an administrator writes into their settings. They are for all users,
 * so paths below a home begin with `~/`, and hosts are compiled: those that the policies name, where they allow a connection.
 * Tested by `test/cli/sandbox/client-lists.test.ts`.
 */
import { paginate } from '../../client/paginate.ts';
import type { Client } from '../../client/create.ts';
import type { SandboxLists } from '../agents/setup/edit.ts';
import { chosen, Policies } from './decide.ts';
import { controlNames, secretNames } from './places.ts';

/** Any user. */
const home = '/home/user';

/** `plane`: its `host:port`. Costs one request for each known path and each host that a policy names. */
export async function clientLists(client: Client, plane: string): Promise<SandboxLists> {
  const facts = { cwd: `${home}/project`, home, workspace: `${home}/project`, plane, sandbox: null };
  const policies = new Policies(client, { runId: 'agents-install', actor: { name: 'gov' }, facts });
  const refuses = (tool: 'read' | 'write') => async (path: string) =>
    !(await policies.probe(tool, { path: path.replace(/^~/, home) })).allowed;
  const connects = async (host: string) => (await policies.probe('connect', { host, port: 443 })).allowed;
  const denyRead = await chosen(secretNames, refuses('read'));
  const denyWrite = await chosen(controlNames, refuses('write'));
  // a host that no policy can name
  if (await connects('no-such-host.gov.invalid')) return { denyRead, denyWrite, allowedDomains: null };
  const hosts = await hostsIn(client);
  return {
    denyRead,
    denyWrite,
    allowedDomains: await chosen(hosts, (host) => connects(host.replace('*', 'any'))),
  };
}

/** Texts of conditions that can be hosts, also with `*.` in front. */
async function hostsIn(client: Client): Promise<string[]> {
  const found = new Set<string>();
  const query = { status: 'active' as const, limit: 100 };
  for await (const { active } of paginate(client.listPolicies, { query }))
    for (const [, host = ''] of (active?.text ?? '').matchAll(/"((?:\*\.)?(?:[a-z0-9-]+\.)*[a-z0-9-]+)"/gi))
      if (host.includes('.') || host === 'localhost') found.add(host.toLowerCase());
  return [...found];
}
