/** How checks of `gov service doctor` and `gov plane doctor` are told. */
import type { Out } from './out.ts';
import { safe, type Safe, type Styles } from './safe.ts';
import { plainView } from './view.ts';

interface Check {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  readonly advice: string | null;
}

/** A line for each check, and one below for what to do. */
export function told(checks: readonly Check[], { green, red, yellow, dim }: Styles): Safe[] {
  const width = Math.max(0, ...checks.map(({ name }) => name.length));
  const marks = { ok: green('✓'), warn: yellow('!'), fail: red('✗') } as const;
  return checks.flatMap(({ name, status, detail, advice }) => [
    safe`${marks[status]} ${name.padEnd(width)}  ${detail}`,
    ...(advice === null ? [] : [safe`  ${' '.repeat(width)}  ${dim(safe`→ ${advice}`)}`]),
  ]);
}

const { columns } = plainView(['name', 'status', 'detail', 'advice']);

/** All that a doctor found: lines for people, rows or one value for programs. */
export async function tellChecks(
  report: { readonly ok: boolean; readonly checks: readonly Check[] },
  out: Out,
  failed = 'it cannot serve: ',
): Promise<void> {
  const { checks, ok } = report;
  if (out.isHuman) {
    await out.lines(told(checks, out.styles));
    const worst = checks.filter(({ status }) => status === 'fail').length;
    await out.note(ok ? safe`it can serve` : safe`${failed}${worst} of ${checks.length} checks failed`);
  } else if (out.format === 'tsv' || out.format === 'csv') {
    await out.table(
      checks.map((each) => ({ ...each })),
      columns,
    );
  } else await out.one(report, plainView(Object.keys(report)));
}
