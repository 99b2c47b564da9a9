/**
 * Hands checks to a pipeline: `-o junit|sarif|github` prints them, `--report FILE` also writes them to a file,
 * and `--annotate` annotates on standard error, which GitHub reads too. Tested by `test/cli/ci/report.test.ts`.
 */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CliError, exit, usage } from '../program/exit.ts';
import type { Io } from '../terminal/io.ts';
import type { Out } from '../terminal/out.ts';
import { Safe, safe } from '../terminal/safe.ts';
import { whyUnwritable } from '../../files/write-fault.ts';
import type { Checks } from './checks.ts';
import { annotations, writeSummary } from './github.ts';
import { junitText } from './junit.ts';
import { sarifText } from './sarif.ts';

interface CiReportCall {
  readonly out: Out;
  readonly io: Io;
  readonly flags: { readonly report: readonly string[]; readonly annotate: boolean };
}

const kindOf = (file: string): 'junit' | 'sarif' | null =>
  file.endsWith('.xml') ? 'junit' : /\.sarif(?:\.json)?$/.test(file) ? 'sarif' : null;

/** Errors: exit 2 for a file whose name says no format. A command checks it before it asks a service. */
export function checkReports({ flags }: Pick<CiReportCall, 'flags'>): void {
  const other = flags.report.find((file) => kindOf(file) === null);
  if (other !== undefined) throw usage(`--report: expected *.xml or *.sarif, got ${JSON.stringify(other)}`);
}

/** Returns true if the format of the output is one of a pipeline, and the output is complete. */
export async function reported({ out, io, flags }: CiReportCall, checks: () => Checks): Promise<boolean> {
  const isGithub = out.format === 'github';
  const isPrinted = isGithub || out.format === 'junit' || out.format === 'sarif';
  if (!isPrinted && flags.report.length === 0 && !flags.annotate) return false;
  const all = checks();
  for (const file of flags.report) write(resolve(io.cwd, file), textOf(kindOf(file), all, io.cwd));
  if (isGithub || flags.annotate) {
    for (const line of annotations(all)) await (isGithub ? out.line(line) : out.prompt(safe`${line}\n`));
    const summary = io.env['GITHUB_STEP_SUMMARY'];
    if (summary !== undefined && summary !== '') writeSummary(all, summary);
  }
  if (isPrinted && !isGithub) {
    const text = textOf(out.format === 'junit' ? 'junit' : 'sarif', all, io.cwd);
    await out.line(Safe.clean(text.trimEnd()));
  }
  return isPrinted;
}

const textOf = (kind: 'junit' | 'sarif' | null, all: Checks, cwd: string): string =>
  kind === 'junit' ? junitText(all) : sarifText(all, cwd);

function write(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (cause) {
    throw new CliError(exit.error, `cannot write ${path}: ${whyUnwritable(cause)}`, {
      code: 'WRITE_FAILED',
      cause,
    });
  }
}
