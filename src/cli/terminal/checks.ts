/**
 * Prints the checks of `gov service doctor` and `gov plane doctor`.
 * Tested by `test/cli/commands/service/serve.test.ts`.
 */
import type { Out } from './out.ts';
import { safe, type Safe, type Styles } from './safe.ts';
import { plainView } from './view.ts';

interface DoctorCheck {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  readonly advice: string | null;
}

/** One line for each check, and one below it with the advice. */
export function checkLines(checks: readonly DoctorCheck[], { green, red, yellow, dim }: Styles): Safe[] {
  const width = Math.max(0, ...checks.map(({ name }) => name.length));
  const marks = { ok: green('✓'), warn: yellow('!'), fail: red('✗') } as const;
  return checks.flatMap(({ name, status, detail, advice }) => [
    safe`${marks[status]} ${name.padEnd(width)}  ${detail}`,
    ...(advice === null ? [] : [safe`  ${' '.repeat(width)}  ${dim(safe`→ ${advice}`)}`]),
  ]);
}

const { columns } = plainView(['name', 'status', 'detail', 'advice']);

/** Prints all checks: lines for people, rows or one value for programs. */
export async function printChecks(
  report: { readonly ok: boolean; readonly checks: readonly DoctorCheck[] },
  out: Out,
  failed = 'it cannot serve: ',
): Promise<void> {
  const { checks, ok } = report;
  if (out.isHuman) {
    await out.lines(checkLines(checks, out.styles));
    const worst = checks.filter(({ status }) => status === 'fail').length;
    await out.note(ok ? safe`it can serve` : safe`${failed}${worst} of ${checks.length} checks failed`);
  } else if (out.format === 'tsv' || out.format === 'csv') {
    await out.table(
      checks.map((each) => ({ ...each })),
      columns,
    );
  } else await out.one(report, plainView(Object.keys(report)));
}
