/**
 * `gov policy test FILES --cases FILES`: runs cases without a service. Exit 3 if one fails.
 * Tested by `test/cli/commands/policy/test.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import type { Checks } from '../../ci/checks.ts';
import { checkReports, reported } from '../../ci/report.ts';
import { exit } from '../../program/exit.ts';
import type { Out } from '../../terminal/out.ts';
import { counted, percentOf, shownPercent } from '../../terminal/numbers.ts';
import { readPolicies } from '../../policies/file.ts';
import { readCases, Suite } from '../../policies/suite.ts';
import type { CaseResult, PolicyCoverage, PolicyMutant } from '../../policies/suite.ts';
import { kindLines, textColumns } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { policyTest as spec } from '../../specs/decide/policy.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, io, signal }) => {
  const place = { io, signal };
  checkReports({ flags });
  const least = flags.minCoverage === undefined ? 0 : percentOf('--min-coverage', flags.minCoverage);
  const suite = new Suite(await readPolicies(args.file, place), await readCases(flags.cases, place));
  const results = suite.results();
  const coverage = suite.coverage();
  const mutants = flags.mutants ? [...suite.mutants()] : null;
  // a constant clause, such as {}, has only one value
  const clauses = coverage.flatMap((each) => each.clauses).filter(({ text }) => !/^(true|false)$/.test(text));
  const covered = coverage.reduce((sum, each) => sum + each.covered, 0);
  const report: TestReport = {
    passed: results.filter(({ passed }) => passed).length,
    failed: results.filter(({ passed }) => !passed).length,
    coverage: clauses.length === 0 ? 1 : covered / clauses.length,
    cases: results,
    policies: coverage,
    mutants,
  };
  out.verdict = report.failed > 0 || report.coverage < least ? exit.checkFailed : exit.ok;
  if (await reported({ out, io, flags }, () => checksOf(report, least))) return out.verdict;
  if (out.isHuman) await human(report, least, out);
  else if (out.format === 'tsv' || out.format === 'csv') await out.lines(kindLines(out, rows(report)));
  else await out.one(report, plainView(['passed']));
  return out.verdict;
};

interface TestReport {
  readonly passed: number;
  readonly failed: number;
  /** Share of clauses that one case saw true and one false. */
  readonly coverage: number;
  readonly cases: readonly CaseResult[];
  readonly policies: readonly PolicyCoverage[];
  readonly mutants: readonly PolicyMutant[] | null;
}

const missText = ({ misses, decidedBy }: CaseResult): string => {
  const texts = misses.map(
    ({ policyId, expected, got }) =>
      `${policyId === null ? '' : `${policyId}: `}expected ${expected}, got ${got}`,
  );
  const by = misses.some(({ policyId }) => policyId === null) && decidedBy.length > 0;
  return `${texts.join('; ')}${by ? `, decided by ${decidedBy.join(', ')}` : ''}`;
};

function checksOf(report: TestReport, least: number): Checks {
  const { cases, coverage, policies, mutants } = report;
  const survivors = mutants?.filter(({ killed }) => !killed) ?? [];
  const message = `${shownPercent(coverage)} of clauses seen both ways, expected ${shownPercent(least)}`;
  return {
    command: 'policy test',
    checks: [
      ...cases.map((each) => ({
        group: each.file,
        name: each.name,
        ...(each.passed
          ? { outcome: 'passed' as const }
          : {
              outcome: 'failed' as const,
              finding: {
                rule: 'test/case',
                level: 'error' as const,
                message: missText(each),
                file: each.file,
              },
            }),
      })),
      ...(least === 0
        ? []
        : [
            {
              group: policies.map(({ policyId }) => policyId).join(', '),
              name: 'coverage',
              ...(coverage >= least
                ? { outcome: 'passed' as const }
                : {
                    outcome: 'failed' as const,
                    finding: { rule: 'test/coverage', level: 'error' as const, message },
                  }),
            },
          ]),
      ...survivors.map(({ policyId, description }) => ({
        group: policyId,
        name: `mutant ${description}`,
        outcome: 'passed' as const,
        finding: {
          rule: 'test/mutant',
          level: 'warning' as const,
          message: `no case notices: ${description}`,
        },
      })),
    ],
  };
}

async function human(report: TestReport, least: number, out: Out): Promise<void> {
  const { styles } = out;
  const { green, red, bold, dim } = styles;
  await out.lines(
    report.cases.map((each) =>
      each.passed ? safe`${green('✓')} ${each.name}` : safe`${red('✗')} ${each.name}  ${missText(each)}`,
    ),
  );
  await out.lines([safe``, bold('Clauses')]);
  await out.table(
    report.policies.flatMap(({ policyId, clauses }) =>
      clauses.map((clause) => ({ ...clause, policyId, seen: seenText(clause) })),
    ),
    [
      ...textColumns(['policyId']),
      ...['true', 'false', 'indeterminate'].map((name) => ({ name, kind: 'count' as const })),
      ...textColumns(['seen', 'text']),
    ],
  );
  const survivors = report.mutants?.filter(({ killed }) => !killed) ?? [];
  if (survivors.length > 0) await out.lines([safe``, bold('Mutants that no case notices')]);
  await out.lines(survivors.map(({ policyId, description }) => safe`  ${policyId}  ${description}`));
  const total = report.mutants?.length ?? 0;
  const killed = report.mutants === null ? '' : `, ${total - survivors.length} of ${total} mutants noticed`;
  const tooLow = report.coverage < least ? red(safe` (expected ${shownPercent(least)})`) : dim('');
  const verdict = report.failed > 0 ? red(`${report.failed} failed`) : green('all passed');
  await out.lines([
    safe``,
    safe`${counted(report.cases.length, 'case')}, ${verdict}, ${shownPercent(report.coverage)} of clauses seen both ways${tooLow}${killed}`,
  ]);
}

const seenText = (clause: { readonly true: number; readonly false: number }): string =>
  clause.true > 0 && clause.false > 0
    ? 'both'
    : clause.true > 0
      ? 'only true'
      : clause.false > 0
        ? 'only false'
        : 'never';

/** One line each: `case name passed …`, `clause policyId text …`, `mutant policyId killed …`. */
const rows = ({ cases, policies, mutants }: TestReport): (readonly (string | number)[])[] => [
  ...cases.map((each) => ['case', each.name, each.passed ? 'passed' : 'failed', missText(each)]),
  ...policies.flatMap(({ policyId, clauses }) =>
    clauses.map((each) => ['clause', policyId, each.text, each.true, each.false, each.indeterminate]),
  ),
  ...(mutants ?? []).map(({ policyId, description, killed }) => [
    'mutant',
    policyId,
    killed ? 'killed' : 'survived',
    description,
  ]),
];
