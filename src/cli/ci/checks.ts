/** The checks of a command, as pipelines understand them. Tested by `test/cli/ci/report.test.ts`. */

export interface CiFinding {
  /** Stable name of the kind of finding, such as `lint/missing_guard`. */
  readonly rule: string;
  readonly level: 'error' | 'warning' | 'note';
  readonly message: string;
  /** Path of the file that the finding is about, as the user gave it. */
  readonly file?: string | undefined;
}

export interface Check {
  /** What the check belongs to: a file, a policy, a proof. */
  readonly group: string;
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** A check that passed may have found something to warn of. */
  readonly finding?: CiFinding;
}

export interface Checks {
  /** Name of the command, such as `policy test`. */
  readonly command: string;
  readonly checks: readonly Check[];
}

/** Returns how many checks have this outcome. */
export const countOf = ({ checks }: Checks, outcome: Check['outcome']): number =>
  checks.filter((check) => check.outcome === outcome).length;

/** `12 passed, 1 failed, 2 skipped`. */
export const summaryOf = (all: Checks): string =>
  (['passed', 'failed', 'skipped'] as const)
    .map((outcome) => [outcome, countOf(all, outcome)] as const)
    .filter(([outcome, count]) => outcome !== 'skipped' || count > 0)
    .map(([outcome, count]) => `${count} ${outcome}`)
    .join(', ');
