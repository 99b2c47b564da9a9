/**
 * `gov policy get ID`: shows the policy; -o policy prints its file.
 * Tested by `test/cli/commands/policy/create.test.ts`.
 */
import type { Policy, PolicyVersion } from '../../../contract/policies.ts';
import { nameOf } from '../../../contract/policy-words.ts';
import type { Json } from '../../../core/json/parse.ts';
import { parseCondition } from '../../../core/policies/language/parse.ts';
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import type { Out } from '../../terminal/out.ts';
import { findVersion } from '../../policies/stored.ts';
import { printPolicyText } from '../../policies/text-form.ts';
import { Safe, safe } from '../../terminal/safe.ts';
import type { policyGet as spec } from '../../specs/decide/policy.ts';
import { viewOf } from '../../terminal/answer-view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session }) => {
  if (flags.version !== undefined && out.format !== 'policy') {
    throw usage(
      '--version: expected together with -o policy',
      `gov policy versions ${shellWord(args.policyId)}`,
    );
  }
  const client = await session.client();
  const { body } = await client.getPolicy({ params: { policyId: args.policyId } });
  if (out.format === 'policy') {
    const version = await findVersion(client, body, flags.version ?? body.latestVersion);
    return out.line(Safe.clean(fileText(body, version).trimEnd()));
  }
  return out.isHuman ? out.lines(card(body, out)) : out.one(body, viewOf('getPolicy'));
};

function fileText(policy: Policy, version: PolicyVersion): string {
  // an older service does not say the last one
  const { condition, action, severity, requireSignedApproval, onIndeterminate = null } = version;
  // the condition comes from a response body
  const node = parseCondition(condition as Json);
  const named = { policyId: policy.id, ...nameOf(policy) };
  return printPolicyText({ ...named, action, severity, requireSignedApproval, onIndeterminate, node });
}

function card(policy: Policy, { styles }: Out): Safe[] {
  const { id, name, description, status, active, latest, revision, updatedAt } = policy;
  const shown = (title: string, version: PolicyVersion): Safe[] => [
    safe``,
    safe`${styles.bold(title)} ${styles.dim(`version ${version.version}, ${version.policyHash}`)}`,
    ...fileText(policy, version)
      .trimEnd()
      .split('\n')
      .map((line) => safe`  ${line}`),
  ];
  return [
    safe`${styles.bold(id)}  ${status === 'active' ? styles.green(status) : styles.yellow(status)}  ${name === id ? '' : name}`,
    ...(description === null ? [] : [safe`${description}`]),
    styles.dim(safe`revision ${revision}, changed ${updatedAt}`),
    ...(active === null ? [] : shown(status === 'active' ? 'active:' : 'last active:', active)),
    ...(active?.version === latest.version ? [] : shown('newest:', latest)),
  ];
}
