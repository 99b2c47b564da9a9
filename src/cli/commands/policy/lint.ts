/**
 * `gov policy lint FILES`: finds errors in policies; offline, except for `--seen RUN`.
 * Tested by `test/cli/commands/policy/files.test.ts`.
 */
import type { Json } from '../../../core/json/parse.ts';
import type { PolicyInput } from '../../../core/policies/evaluate/compile.ts';
import { lint, seenPaths } from '../../../core/policies/lint/check.ts';
import type { LintFinding } from '../../../core/policies/lint/finding.ts';
import { printText } from '../../../core/policies/language/text.ts';
import type { Invocation, Run } from '../../context/command.ts';
import type { Check, Checks } from '../../ci/checks.ts';
import { checkReports, reported } from '../../ci/report.ts';
import { exit, usage } from '../../program/exit.ts';
import { failsOn } from '../../program/fail-on.ts';
import { isThere, readInput, valuesOf } from '../../terminal/input.ts';
import { isObject } from '../../../core/json/object.ts';
import type { Out } from '../../terminal/out.ts';
import { checkpointOf } from '../../policies/input.ts';
import { readPolicies } from '../../policies/file.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import { safe, type Safe } from '../../terminal/safe.ts';
import { policyLint as spec } from '../../specs/decide/policy.ts';

const columns = textColumns(['policyId', 'severity', 'code', 'path', 'detail', 'file']);

export const run: Run<typeof spec> = async (invocation) => {
  const { args, flags, out, io, signal } = invocation;
  checkReports({ flags });
  const policies = await readPolicies(args.file, { io, signal });
  const seen =
    flags.seen === undefined ? {} : { seenPaths: seenPaths(await checkpoints(invocation, flags.seen)) };
  const findings = policies.flatMap(({ file, policyId, action, node }) =>
    lint(node, { action, ...seen }).map(({ fix, ...finding }) => ({
      file,
      policyId,
      ...finding,
      ...(fix === undefined ? {} : { fix: printText(fix) }),
    })),
  );
  const failOn = flags.failOn ?? 'error';
  const bad = findings.filter(({ severity }) => failsOn([failOn], severity, spec.flags.failOn.choices));
  out.verdict = bad.length > 0 ? exit.checkFailed : exit.ok;
  const checks = (): Checks => ({
    command: 'policy lint',
    checks: policies.flatMap((policy) => checksOf(policy, findings, bad)),
  });
  if (await reported({ out, io, flags }, checks)) return out.verdict;
  if (out.isHuman) await out.lines(human(findings, policies.length, out));
  else await printReport(out, { whole: { findings }, columns, rows: findings });
  return out.verdict;
};

interface FileFinding extends Omit<LintFinding, 'fix'> {
  readonly file: string;
  readonly fix?: string;
}

/** One check for each finding of a policy; a policy without one is a check that passed. */
function checksOf(
  { policyId, file }: Pick<FileFinding, 'file'> & { readonly policyId: string },
  findings: readonly (FileFinding & { readonly policyId: string })[],
  bad: readonly FileFinding[],
): Check[] {
  const mine = findings.filter((finding) => finding.policyId === policyId);
  if (mine.length === 0) return [{ group: file, name: policyId, outcome: 'passed' }];
  return mine.map((finding) => {
    const { code, severity, path, detail, fix } = finding;
    const level = severity === 'info' ? 'note' : severity;
    const message = fix === undefined ? detail : `${detail}; fix: ${fix}`;
    return {
      group: file,
      name: `${policyId} ${code} at ${path}`,
      outcome: bad.includes(finding) ? 'failed' : 'passed',
      finding: { rule: `lint/${code}`, level, message, file },
    };
  });
}

/** In the form of compilers: place, severity, text; below it a corrected condition. */
function human(findings: readonly FileFinding[], policies: number, { styles }: Out): Safe[] {
  const paint = { error: styles.red, warning: styles.yellow, info: styles.dim };
  return [
    ...findings.flatMap(({ file, severity, detail, code, path, fix }) => [
      safe`${styles.bold(file)}: ${paint[severity](severity)}: ${detail} ${styles.dim(`(${code} at ${path})`)}`,
      ...(fix === undefined ? [] : [safe`  ${styles.cyan('fix:')} ${fix}`]),
    ]),
    safe`policies: ${policies}, findings: ${findings.length}`,
  ];
}

/** Returns recorded inputs of a file, else of a run's evaluations. */
async function checkpoints(
  { io, session, signal }: Invocation<typeof spec>,
  word: string,
): Promise<PolicyInput[]> {
  const place = { io, signal };
  if (word === '-' || isThere(word, place)) {
    const values = valuesOf(await readInput(word, place));
    return values.map((value, at) => checkpointOf(recorded(value), `${word} ${at + 1}`));
  }
  const client = await session.client();
  const found: PolicyInput[] = [];
  let cursor: string | undefined;
  do {
    const { body } = await client.listPolicyEvaluations({ query: { runId: word, cursor, limit: 100 } });
    for (const { id, checkpoint } of body.data) {
      // erased inputs are null; others come from a response body
      if (isObject(checkpoint)) found.push(checkpointOf(checkpoint, id));
    }
    cursor = body.nextCursor ?? undefined;
  } while (cursor !== undefined);
  if (found.length > 0) return found;
  throw usage(`--seen: expected a file, or a run with evaluations, got ${JSON.stringify(word)}`);
}

/** Returns a checkpoint, or the checkpoint of a recorded evaluation. */
const recorded = (value: Json): Json =>
  isObject(value) && isObject(value['checkpoint']) ? value['checkpoint'] : value;
