/**
 * `gov verify-page`: writes the page that verifies evidence in a browser. Tested by
 * `test/cli/commands/verify-page/run.test.ts`.
 */
import { readFile } from 'node:fs/promises';
import type { Run } from '../../context/command.ts';
import { refuseExisting, writeOutput } from '../../terminal/output-file.ts';
import type { verifyPage as spec } from '../../specs/prove/verify-page.ts';

const page = new URL('../../../../dist/verify.html', import.meta.url);

export const run: Run<typeof spec> = async (call) => {
  const { out = '-', force } = call.flags;
  refuseExisting(out, { force }, call);
  await writeOutput(out, await readFile(page), call);
};
