/**
 * Prints the checks of `gov doctor`, `gov service doctor` and `gov plane doctor`.
 * Tested by `test/cli/commands/service/serve.test.ts` and `test/cli/doctor/run.test.ts`.
 */
import type { Out } from './out.ts';
import { safe, type Safe, type Styles } from './safe.ts';
import { plainView } from './view.ts';
import { wrapped } from './width.ts';

interface Line {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  readonly advice: string | null;
}

interface DoctorCheck extends Line {
  readonly status: 'ok' | 'warn' | 'fail';
}

/** A narrower terminal has the detail below its name. */
const twoColumns = 64;

/** The name and the detail of each check, and below them the advice; no line is longer than `columns`. */
export function checkLines(
  checks: readonly Line[],
  { green, red, yellow, dim }: Styles,
  columns = Infinity,
): Safe[] {
  const isNarrow = columns < twoColumns;
  const width = Math.max(0, ...checks.map(({ name }) => name.length));
  const indent = isNarrow ? 4 : width + 4;
  const marks = {
    ok: green('✓'),
    warn: yellow('!'),
    warning: yellow('!'),
    fail: red('✗'),
    failed: red('✗'),
    skipped: dim(safe`-`),
  } as const;
  return checks.flatMap(({ name, status, detail, advice }) => {
    const blank = ' '.repeat(indent);
    const [first = '', ...rest] = wrapped(detail, columns - indent);
    const head = isNarrow
      ? [safe`${marks[status]} ${name}`, safe`${blank}${first}`]
      : [safe`${marks[status]} ${name.padEnd(width)}  ${first}`];
    // a command that wraps could not be copied
    const next = advice === null ? [] : [safe`${blank}${dim(safe`→ ${advice}`)}`];
    return [...head, ...rest.map((line) => safe`${blank}${line}`), ...next];
  });
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
    await out.lines(checkLines(checks, out.styles, out.settings.tty ? out.settings.columns : Infinity));
    const worst = checks.filter(({ status }) => status === 'fail').length;
    await out.note(ok ? safe`it can serve` : safe`${failed}${worst} of ${checks.length} checks failed`);
  } else if (out.format === 'tsv' || out.format === 'csv') {
    await out.table(
      checks.map((each) => ({ ...each })),
      columns,
    );
  } else await out.one(report, plainView(Object.keys(report)));
}
