/** Shows changes of files: as a diff before they happen, as one line each after. Tested by `test/cli/agents/install.test.ts`. */
import { clientTitles } from '../../core/agents/clients.ts';
import { lineDiff } from '../../core/line-diff.ts';
import { exit } from '../program/exit.ts';
import type { Out } from '../terminal/out.ts';
import { printReport, textColumns } from '../terminal/report.ts';
import { safe, type Safe } from '../terminal/safe.ts';
import { isChange, type Change } from './install.ts';
import type { OddClient } from './setup/edit.ts';

const linesOf = (text: string | null): string[] => (text === null ? [] : text.replace(/\n$/, '').split('\n'));

export async function showChanges(
  out: Out,
  changes: readonly Change[],
  { dryRun }: { readonly dryRun: boolean },
): Promise<void> {
  const rows = changes.map((change) => ({ path: change.path, change: verbOf(change) }));
  if (dryRun && !out.isJson && out.format !== 'yaml')
    return out.lines(changes.flatMap((change) => diffOf(out, change)));
  await printReport(out, { whole: { dryRun, files: rows }, columns: textColumns(['change', 'path']), rows });
}

function verbOf(change: Change): string {
  if (!isChange(change)) return 'unchanged';
  if (change.before === null) return 'created';
  return change.after === null ? 'removed' : 'changed';
}

/** Lines between the changes are left out. */
function diffOf({ styles }: Out, change: Change): Safe[] {
  const { path, before, after } = change;
  if (!isChange(change)) return [safe`${path}: unchanged`];
  const paint = { '+': styles.green, '-': styles.red, ' ': styles.dim };
  const lines = lineDiff(linesOf(before), linesOf(after)).filter(({ sign }) => sign !== ' ');
  return [
    safe`--- ${before === null ? '/dev/null' : path}`,
    safe`+++ ${after === null ? '/dev/null' : path}`,
    ...lines.map(({ sign, text }) => paint[sign](safe`${sign}${text}`)),
  ];
}

/** Names the clients whose files were left alone. Returns the exit code. */
export async function nameOdd(out: Out, odd: readonly OddClient[]): Promise<number> {
  for (const { client, fault } of odd)
    await out.warn(safe`${clientTitles[client]} was left alone: ${fault.message}. ${fault.hint ?? ''}`);
  if (odd.length > 0) out.verdict = exit.partial;
  return odd.length > 0 ? exit.partial : exit.ok;
}
