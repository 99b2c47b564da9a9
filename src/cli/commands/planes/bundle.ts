/**
 * `gov planes bundle`: writes the signed configuration to a file.
 * Tested by `test/cli/context/plane-directory.test.ts`.
 */
import { canonicalize, type Json } from '../../../core/json/parse.ts';
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { isStdout, refuseExisting, writeOutput } from '../../terminal/output-file.ts';
import { Safe, safe } from '../../terminal/safe.ts';
import type { planesBundle as spec } from '../../specs/account/planes.ts';

export const run: Run<typeof spec> = async (call) => {
  const { flags, out, session } = call;
  if (flags.out !== undefined) refuseExisting(flags.out, flags, call);
  const client = await session.client();
  const { bundleVersion, bundleHash, signed, verifierKey } = (await client.getConfigBundle()).body;
  if (signed === null) {
    throw new CliError(exit.notFound, 'expected the signed configuration, but the plane has lost its copy', {
      code: 'NOT_FOUND',
      hint: 'get it from the service',
    });
  }
  // the schema makes it JSON; canonical form gives the same bytes each time
  const text = `${canonicalize(signed as unknown as Json)}\n`;
  if (flags.out !== undefined && !isStdout(flags.out, call)) {
    await writeOutput(flags.out, Buffer.from(text), call, 0o600);
    await out.note(safe`wrote ${flags.out}: configuration ${bundleVersion}, ${bundleHash}`);
    if (verifierKey !== null) await out.note(safe`signed by the service, whose key is ${verifierKey}`);
    return out.note(safe`on the plane: gov plane config apply ${shellWord(flags.out)}`);
  }
  return out.settings.tty ? out.line(Safe.json(signed, 2)) : out.raw(Buffer.from(text));
};
