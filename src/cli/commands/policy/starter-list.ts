/** `gov policy starter list`. Tested by `test/cli/commands/policy/starter.test.ts`. */
import { shellWord } from '../../../core/shell-word.ts';
import { starters } from '../../policies/starters.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import type { policyStarterList as spec } from '../../specs/decide/policy.ts';

export const run: Run<typeof spec> = async ({ out }) => {
  const rows = starters.map(({ id, summary }) => ({ id, summary }));
  await printReport(out, { whole: { starters: rows }, columns: textColumns(['id', 'summary']), rows });
  if (out.isHuman)
    await out.note(safe`next: gov policy starter add ${shellWord(starters[0]?.id ?? '')} --to policies`);
};
