/**
 * Annotations and step summary of GitHub Actions: https://docs.github.com/actions, "Workflow commands". Findings contain
 * text of agents, so each value is escaped: it can end no command and begin none.
 * Tested by `test/cli/ci/report.test.ts`.
 */
import { appendFileSync, statSync } from 'node:fs';
import { CliError, exit } from '../program/exit.ts';
import { whyUnwritable } from '../../files/write-fault.ts';
import { Safe, safe } from '../terminal/safe.ts';
import { summaryOf } from './checks.ts';
import type { Check, Checks, CiFinding } from './checks.ts';

/** GitHub shows ten annotations of each kind for a step, and drops the others. */
export const annotationsOfKind = 10;
/** GitHub refuses a larger summary of a step. */
export const stepSummaryBytes = 1024 * 1024;

const kinds = { error: 'error', warning: 'warning', note: 'notice' } as const;

/** The value of a command: what follows `::`. */
const escaped = (text: string): string =>
  String(Safe.clean(text)).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const escapedProperty = (text: string): string => escaped(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

const findingsOf = ({ checks }: Checks): (Check & { finding: CiFinding })[] =>
  checks.flatMap((check) =>
    check.finding === undefined || check.outcome === 'skipped' ? [] : [{ ...check, finding: check.finding }],
  );

/** Returns workflow commands, at most `annotationsOfKind` of each kind. */
export function annotations(all: Checks): Safe[] {
  const findings = findingsOf(all);
  return (['error', 'warning', 'note'] as const).flatMap((level) =>
    findings
      .filter(({ finding }) => finding.level === level)
      .slice(0, annotationsOfKind)
      .map(({ group, name, finding: { file, message } }) => {
        const where = file === undefined || file === '-' ? '' : `file=${escapedProperty(file)},`;
        const title = escapedProperty(`gov ${all.command}: ${group}: ${name}`);
        return safe`::${kinds[level]} ${where}title=${title}::${escaped(message)}`;
      }),
  );
}

const cell = (text: string): string =>
  String(Safe.cell(text)).replace(
    /[\\`*_{}[\]<>()#+!|~$&@]/g,
    (character) => `&#${character.charCodeAt(0)};`,
  );

/** Returns Markdown of at most `bytes` bytes; a line counts the findings that did not fit. */
export function summaryText(all: Checks, bytes: number): string {
  const failed = all.checks.some(({ outcome }) => outcome === 'failed');
  const head = `### gov ${all.command}: ${failed ? '❌ failed' : '✅ passed'}\n\n${summaryOf(all)}\n\n`;
  const rows = findingsOf(all).map(
    ({ group, name, finding: { level, message } }) =>
      `| ${level} | ${cell(group)} | ${cell(name)} | ${cell(message)} |\n`,
  );
  const table = rows.length === 0 ? '' : '| | of | check | finding |\n|---|---|---|---|\n';
  const last = (left: number): string => (left === 0 ? '\n' : `\n${left} more are not shown.\n\n`);
  let text = head + table;
  const most = bytes - Buffer.byteLength(last(rows.length));
  let size = Buffer.byteLength(text);
  if (size > most) return '';
  for (const [at, row] of rows.entries()) {
    size += Buffer.byteLength(row);
    if (size > most) return text + last(rows.length - at);
    text += row;
  }
  return text + last(0);
}

/** Appends to the file of the step. Earlier commands of the step may have written to it. */
export function writeSummary(all: Checks, file: string): void {
  try {
    const before = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    appendFileSync(file, summaryText(all, stepSummaryBytes - before));
  } catch (cause) {
    throw new CliError(exit.error, `GITHUB_STEP_SUMMARY: ${whyUnwritable(cause)}`, {
      code: 'WRITE_FAILED',
      cause,
    });
  }
}
