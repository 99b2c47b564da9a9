/** Reads policies from the service. Tested by `test/cli/commands/policy/create.test.ts`. */
import type { Client } from '../../client/create.ts';
import { GovApiError } from '../../client/errors.ts';
import type { Policy, PolicyVersion } from '../../contract/policies.ts';
import { shellWord } from '../../core/shell-word.ts';
import { CliError, exit } from '../program/exit.ts';

/** Returns the policy, or null for an unknown id. */
export async function findPolicy(client: Client, policyId: string): Promise<Policy | null> {
  try {
    return (await client.getPolicy({ params: { policyId } })).body;
  } catch (failure) {
    if (failure instanceof GovApiError && failure.status === 404) return null;
    throw failure;
  }
}

/** Returns one version of a policy. Errors: exit 5 for an unknown number. */
export async function findVersion(client: Client, policy: Policy, version: number): Promise<PolicyVersion> {
  const known = [policy.latest, policy.active].find((each) => each?.version === version);
  if (known) return known;
  const policyId = policy.id;
  let cursor: string | undefined;
  do {
    const { body } = await client.listPolicyVersions({ params: { policyId }, query: { cursor, limit: 100 } });
    const found = body.data.find((each) => each.version === version);
    if (found !== undefined) return found;
    cursor = body.nextCursor ?? undefined;
  } while (cursor !== undefined);
  throw new CliError(
    exit.notFound,
    `policy ${policyId}: expected a version from 1 to ${policy.latestVersion}, got ${version}`,
    { code: 'NOT_FOUND', next: [`gov policy versions ${shellWord(policyId)}`] },
  );
}
