/**
 * `gov policy diff ID [V1] [V2]` and `gov policy diff FILE`: compares two versions by clause.
 * Tested by `test/cli/commands/policy/test.test.ts`.
 */
import type { Client } from '../../../client/create.ts';
import type { Policy, PolicyVersion } from '../../../contract/policies.ts';
import type { Json } from '../../../core/json/parse.ts';
import { parseCondition } from '../../../core/policies/language/parse.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { exit, usage } from '../../program/exit.ts';
import { isThere } from '../../terminal/input.ts';
import type { Out } from '../../terminal/out.ts';
import { diffLines, isChanged } from '../../../core/policies/language/diff-lines.ts';
import type { PolicyRuling } from '../../../core/policies/language/diff-lines.ts';
import type { DiffLine } from '../../../core/line-diff.ts';
import { readPolicies } from '../../policies/file.ts';
import type { PolicyFile } from '../../policies/file.ts';
import { findPolicy, findVersion } from '../../policies/stored.ts';
import { safe } from '../../terminal/safe.ts';
import type { Safe } from '../../terminal/safe.ts';
import type { policyDiff as spec } from '../../specs/decide/policy.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { args, flags, out, io, signal } = invocation;
  const isFile = isThere(args.policy, { io, signal }) || /[/\\]|\.(policy|json)$/.test(args.policy);
  const diffs = isFile ? await filesDiff(invocation) : [await versionsDiff(invocation)];
  out.verdict =
    flags.failOn !== undefined && diffs.some(({ changed }) => changed) ? exit.checkFailed : exit.ok;
  const [only] = diffs;
  if (out.isJson || out.format === 'yaml')
    await out.one(diffs.length === 1 ? only : { data: diffs, nextCursor: null }, plainView(['policyId']));
  else if (out.isHuman) await out.lines(diffs.flatMap((each) => human(each, out)));
  else {
    const lines = diffs.flatMap(({ policyId, lines }) => lines.map((line) => ({ policyId, ...line })));
    await out.table(lines, plainView(['policyId', 'sign', 'text']).columns);
  }
  return out.verdict;
};

interface Diff {
  readonly policyId: string;
  /** Null if the policy does not exist yet. */
  readonly from: number | null;
  readonly to: number | string;
  readonly changed: boolean;
  readonly lines: readonly DiffLine[];
}

/** Compares as `policy create` does: the newest version with the file. */
async function filesDiff({ args, io, session, signal }: Invocation<typeof spec>): Promise<Diff[]> {
  if (args.from !== undefined) throw usage('expected no version numbers together with a file');
  const files = await readPolicies([args.policy], { io, signal });
  const client = await session.client();
  const diffs: Diff[] = [];
  for (const file of files) diffs.push(await fileDiff(client, file));
  return diffs;
}

async function fileDiff(client: Client, file: PolicyFile): Promise<Diff> {
  const { policyId } = file;
  const policy = await findPolicy(client, policyId);
  if (policy === null) {
    const lines = diffLines(file, file).map(({ text }) => ({ sign: '+' as const, text }));
    return { policyId, from: null, to: file.file, changed: true, lines };
  }
  const lines = diffLines(rulingOf(policy.latest), file);
  return { policyId, from: policy.latestVersion, to: file.file, changed: isChanged(lines), lines };
}

async function versionsDiff({ args, session }: Invocation<typeof spec>): Promise<Diff> {
  const client = await session.client();
  const { body: policy } = await client.getPolicy({ params: { policyId: args.policy } });
  const [from, to] = numbersOf(policy, args);
  const before = rulingOf(await findVersion(client, policy, from));
  const lines = diffLines(before, rulingOf(await findVersion(client, policy, to)));
  return { policyId: policy.id, from, to, changed: isChanged(lines), lines };
}

/** Without numbers: the active version, or the one before the newest, and the newest. */
function numbersOf(policy: Policy, { from, to }: Invocation<typeof spec>['args']): [number, number] {
  const newest = policy.latestVersion;
  const other = policy.activeVersion ?? newest;
  const standard = other === newest ? Math.max(1, newest - 1) : other;
  return [from === undefined ? standard : numberOf(from), to === undefined ? newest : numberOf(to)];
}

function numberOf(text: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  throw usage(`expected a version such as 2, got ${JSON.stringify(text.slice(0, 64))}`);
}

// conditions come from response bodies
const rulingOf = (version: PolicyVersion): PolicyRuling => ({
  action: version.action,
  severity: version.severity,
  requireSignedApproval: version.requireSignedApproval,
  onIndeterminate: version.onIndeterminate ?? null,
  node: parseCondition(version.condition as Json),
});

function human({ policyId, from, to, changed, lines }: Diff, { styles }: Out): Safe[] {
  const { bold, dim, green, red } = styles;
  const what = `${from === null ? 'new' : `version ${from}`} → ${typeof to === 'number' ? `version ${to}` : to}`;
  const head = safe`${bold(policyId)}  ${dim(what)}${changed ? '' : '  no difference'}`;
  if (!changed) return [head];
  const paint = { '+': green, '-': red, ' ': dim };
  return [head, ...lines.map(({ sign, text }) => paint[sign](safe`${sign} ${text}`))];
}
