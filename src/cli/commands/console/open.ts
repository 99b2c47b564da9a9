/** `gov console open`. Tested by `test/cli/commands/console/open.test.ts`. */
import { resolve } from 'node:path';
import { readSecret } from '../../context/config.ts';
import type { Run } from '../../program/command.ts';
import { Safe, safe } from '../../terminal/safe.ts';
import { plainView } from '../../terminal/view.ts';
import type { consoleOpen as spec } from './spec.ts';

export const run: Run<typeof spec> = async ({ flags, io, out, session }) => {
  const baseUrl = session.baseUrl().value;
  const client =
    flags.key === undefined
      ? await session.client()
      : await session.clientAt(baseUrl, { token: readSecret(resolve(io.cwd, flags.key)) });
  const { code, expiresAt } = (await client.createConsoleLink()).body;
  // a fragment: browsers send it to no server, so no log has it
  const url = `${baseUrl.replace(/\/(?:sandbox\/)?api\/v1\/?$/, '')}/console/#code=${code}`;
  if (out.isHuman && !flags.print) {
    const { openPage } = await import('../../terminal/browser.ts');
    await openPage(url, io.env);
    return out.note(safe`opened the console in the browser`);
  }
  if (!out.isHuman && out.format !== 'tsv')
    return out.one({ url, expiresAt }, plainView(['url', 'expiresAt']));
  // alone on its line, for copying
  await out.line(Safe.cell(url));
  await out.note(safe`the link works once, until ${expiresAt}`);
};
