/**
 * `gov policy create FILES`: creates missing policies, adds a version if a file differs from the newest, and leaves equal
 * ones unchanged. It reads all files first. After a crash some policies are done, and the next call finds them equal.
 * Tested by `test/cli/commands/policy/create.test.ts`.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Client } from '../../../client/create.ts';
import type { Policy } from '../../../contract/policies.ts';
import { nameMembers, nameOf } from '../../../contract/policy-words.ts';
import type { Invocation, Run } from '../../context/command.ts';
import type { ListPage, Row } from '../../terminal/out.ts';
import { readPolicies, versionOf } from '../../policies/file.ts';
import type { PolicyFile } from '../../policies/file.ts';
import { findPolicy } from '../../policies/stored.ts';
import { textColumns } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { policyCreate as spec } from '../../specs/decide/policy.ts';

const columns = textColumns(['policyId', 'did', 'version', 'status', 'activeVersion', 'file']);

export const run: Run<typeof spec> = async (invocation) => {
  const { args, out, io, session, signal } = invocation;
  const policies = await readPolicies(args.file, { io, signal });
  const client = await session.client();
  const done = async function* (): AsyncGenerator<ListPage> {
    // people see one table, including policies done before a failure
    const rows: Row[] = [];
    try {
      for (const policy of policies) {
        const row = await apply(policy, client, invocation);
        if (out.isHuman) rows.push(row);
        else yield { items: [row], nextCursor: null };
      }
    } finally {
      yield { items: rows, nextCursor: null };
    }
  };
  await out.list(done(), { columns, wide: columns, id: 'policyId', items: undefined }, 'data');
};

async function apply(file: PolicyFile, client: Client, { flags, out }: Invocation<typeof spec>) {
  const { policyId } = file;
  const found = await findPolicy(client, policyId);
  const { did, policy } = found === null ? await create(file, client) : await update(file, found, client);
  if (!isDeepStrictEqual(nameOf(policy), nameOf(file))) {
    await out.warn(safe`${policyId}: ${nameMembers.join(' and ')} keep their values from creation`);
  }
  const { latestVersion: version } = policy;
  const standing = { policyId, did, version, status: policy.status, activeVersion: policy.activeVersion };
  const isInForce = policy.status === 'active' && policy.activeVersion === version;
  if (!flags.publish || isInForce) return { ...standing, file: file.file };
  const { body } = await client.publishPolicy({
    params: { policyId },
    body: { version, ...(flags.reason === undefined ? {} : { reason: flags.reason }) },
  });
  const published = { status: body.status, activeVersion: body.activeVersion };
  return {
    ...standing,
    did: did === 'unchanged' ? 'published' : `${did}, published`,
    ...published,
    file: file.file,
  };
}

interface PolicyResult {
  readonly did: string;
  readonly policy: Policy;
}

const proposed = ({ condition, action, severity, requireSignedApproval, onIndeterminate }: PolicyFile) => ({
  condition,
  action,
  ...(severity === null ? {} : { severity }),
  ...(requireSignedApproval ? { requireSignedApproval } : {}),
  ...(onIndeterminate === null ? {} : { onIndeterminate }),
});

async function create(file: PolicyFile, client: Client): Promise<PolicyResult> {
  const { policyId } = file;
  const { description, ...named } = nameOf(file);
  const body = { policyId, ...named, ...(description === null ? {} : { description }), ...proposed(file) };
  return { did: 'created', policy: (await client.createPolicy({ body })).body };
}

/** A file is equal if it gives the hash of the newest version, from condition, action and severity. */
async function update(file: PolicyFile, found: Policy, client: Client): Promise<PolicyResult> {
  const { latestVersion, latest } = found;
  if (versionOf(file, latestVersion).policyHash === latest.policyHash)
    return { did: 'unchanged', policy: found };
  const { policyId } = file;
  const { body } = await client.addPolicyVersion({
    params: { policyId },
    body: proposed(file),
    // another process may have added this same version since the policy was read
    ifMatch: `"${found.revision}"`,
  });
  return { did: 'version added', policy: { ...found, latestVersion: body.version, latest: body } };
}
