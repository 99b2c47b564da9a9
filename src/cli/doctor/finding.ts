/**
 * One check of `gov doctor`: its result, and the next step as a command. A check that throws has failed, and so has one
 * that takes longer than `patienceMs`. Tested by `test/cli/doctor/run.test.ts`.
 */
import { failureOf } from '../program/exit.ts';

export interface DoctorFinding {
  readonly name: string;
  /** `warning`: gov works, but not as it should. `skipped`: there is nothing to check, or an earlier check failed. */
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  /** The next step; null where nothing is to do. */
  readonly next: string | null;
}

export type CheckResult = Omit<DoctorFinding, 'name'>;

export const ok = (detail: string): CheckResult => ({ status: 'ok', detail, next: null });
export const warning = (detail: string, next: string): CheckResult => ({ status: 'warning', detail, next });
export const failed = (detail: string, next: string): CheckResult => ({ status: 'failed', detail, next });
export const skipped = (detail: string, next: string | null = null): CheckResult => ({
  status: 'skipped',
  detail,
  next,
});

/** Time limit of a check. A person waits for the slowest one, because all run at once. */
export const patienceMs = 3000;

/** Time limit of a request or a program inside a check: it reports its own cause before the check gives up. */
export const attemptMs = 2500;

/** Runs one check. Never rejects. */
export async function examine(
  name: string,
  look: () => Promise<CheckResult> | CheckResult,
): Promise<DoctorFinding> {
  let late: NodeJS.Timeout | undefined;
  const patience = new Promise<CheckResult>((resolve) => {
    late = setTimeout(
      () => resolve(failed(`no result within ${patienceMs / 1000} s`, 'gov doctor --debug=http')),
      patienceMs,
    );
  });
  try {
    return { name, ...(await Promise.race([Promise.resolve().then(look), patience])) };
  } catch (thrown) {
    const { message, hint, next } = failureOf(thrown);
    return { name, ...failed(message, next[0] ?? hint ?? 'gov doctor --debug') };
  } finally {
    clearTimeout(late);
  }
}
