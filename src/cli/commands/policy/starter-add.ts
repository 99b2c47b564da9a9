/**
 * `gov policy starter add ID… --to DIR`: writes policy files and their cases. It replaces no file.
 * Tested by `test/cli/commands/policy/starter.test.ts`.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { shellWord } from '../../../core/shell-word.ts';
import { casesOf } from '../../policies/starter-cases.ts';
import { starters, type Starter } from '../../policies/starters.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import { codeOf, whyUnwritable } from '../../../files/write-fault.ts';
import type { policyStarterAdd as spec } from '../../specs/decide/policy.ts';
import { makeFolder } from '../../../files/make-folder.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, io }) => {
  const wanted = args.starter.map(named);
  const files = wanted.flatMap((starter) => [
    { file: join(flags.to, `${starter.id}.policy`), content: starter.text },
    {
      file: join(flags.to, `${starter.id}.cases.ndjson`),
      content: casesOf(starter)
        .map((each) => `${JSON.stringify(each)}\n`)
        .join(''),
    },
  ]);
  const present = files.find(({ file }) => existsSync(resolve(io.cwd, file)));
  if (present !== undefined) {
    throw usage(
      `${present.file} exists already`,
      'nothing was written; remove it, or name another folder with --to',
    );
  }
  for (const { file, content } of files) {
    try {
      makeFolder(resolve(io.cwd, flags.to));
      writeFileSync(resolve(io.cwd, file), content, { flag: 'wx' });
    } catch (cause) {
      throw new CliError(exit.error, `cannot write ${file}: ${whyUnwritable(cause)}`, {
        code: codeOf(cause),
        cause,
      });
    }
  }
  const rows = files.map(({ file }) => ({ file }));
  await printReport(out, { whole: { files: rows }, columns: textColumns(['file']), rows });
  if (out.isHuman) {
    await out.note(
      safe`next: change hosts, programs and limits to yours, then gov policy test ${shellWord(flags.to)} --cases ${shellWord(flags.to)}`,
    );
  }
};

function named(id: string): Starter {
  const found = starters.find((starter) => starter.id === id);
  if (found !== undefined) return found;
  throw usage(`no starter policy ${JSON.stringify(id)}`, 'gov policy starter list');
}
