/** The layers and checks of a verification, for a pipeline. Tested by `test/cli/ci/report.test.ts`. */
import { isVacuous } from '../../core/proofs/verdict.ts';
import type { CheckResult } from '../../core/proofs/verdict.ts';
import { meaningOf } from '../terminal/verdict.ts';
import type { Check, Checks } from './checks.ts';

/** A verdict about a proof, an answer or an export. */
interface VerdictInput {
  readonly verified: boolean;
  readonly code?: string | null | undefined;
  readonly detail?: string | null;
  readonly layers?: readonly {
    readonly name: string;
    readonly passed: boolean;
    readonly code?: string | undefined;
    readonly says?: string | undefined;
  }[];
  readonly checks?: readonly CheckResult<string>[];
}

/** `file`: the verified file, if it is one. */
export function proofChecks(verdict: VerdictInput, group: string, file: string | undefined): Checks {
  const { verified, code, detail, layers = [], checks = [] } = verdict;
  const found = (rule: string, level: 'error' | 'warning', message: string): Pick<Check, 'finding'> => ({
    finding: { rule: `proof/${rule}`, level, message, file },
  });
  const whole: Check = {
    group,
    name: 'verified',
    outcome: verified ? 'passed' : 'failed',
    ...(verified
      ? {}
      : found(
          'not_verified',
          'error',
          [meaningOf(code ?? undefined) || 'not verified', detail ?? ''].filter(Boolean).join(': '),
        )),
  };
  return {
    command: 'proofs verify',
    checks: [
      whole,
      ...layers.map(({ name, passed, code: why, says = '' }): Check => ({
        group,
        name,
        outcome: passed ? 'passed' : 'failed',
        ...(passed && !isVacuous(why)
          ? {}
          : found(
              name,
              passed ? 'warning' : 'error',
              [meaningOf(why) || 'the layer does not hold', says].filter(Boolean).join(': '),
            )),
      })),
      ...checks.map(({ id, result, code: why, detail: more = '' }): Check => ({
        group,
        name: id,
        outcome: result === 'not_checked' ? 'skipped' : result,
        ...(result === 'passed'
          ? {}
          : found(
              id,
              'error',
              [meaningOf(why), more].filter(Boolean).join(': ') || result.replace('_', ' '),
            )),
      })),
    ],
  };
}
