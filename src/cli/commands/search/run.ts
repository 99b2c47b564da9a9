/** `gov search TEXT…`. Tested by `test/cli/commands/search/run.test.ts`. */
import type { Run } from '../../context/command.ts';
import { exit, usage } from '../../program/exit.ts';
import { find } from '../../search/find.ts';
import { printReport } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { Column } from '../../terminal/view.ts';
import type { search as spec } from '../../specs/record/search.ts';

const columns: readonly Column[] = [
  { name: 'id', kind: 'id' },
  { name: 'kind', kind: 'text' },
  { name: 'at', kind: 'time' },
  { name: 'what', kind: 'text' },
  { name: 'next', kind: 'text' },
];

export const run: Run<typeof spec> = async ({ args, out, session }) => {
  const text = args.text.join(' ');
  if (text.trim() === '') throw usage('text: expected a word to find, got blanks alone');
  const found = await find(await session.client(), text);
  out.verdict = found.results.length === 0 ? exit.notFound : exit.ok;
  await printReport(out, { whole: found, columns, rows: found.results.map((each) => ({ ...each })) });
  if (found.results.length === 0) await out.note(safe`nothing found for ${text}`);
  for (const line of found.cut) await out.note(safe`cut: ${line}`);
  return out.verdict;
};
