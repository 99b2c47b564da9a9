/** `gov planes bundle`: the signed configuration as a file. */
import { canonicalize, type Json } from '../../../core/json/parse.ts';
import type { Run } from '../../program/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { isStdout, writeOutput } from '../../terminal/output-file.ts';
import { Safe, safe } from '../../terminal/safe.ts';
import type { planesBundle as spec } from '../plane/config-spec.ts';

export const run: Run<typeof spec> = async (call) => {
  const { flags, out, session } = call;
  const client = await session.client();
  const { bundleVersion, bundleHash, signed, verifierKey } = (await client.getConfigBundle()).body;
  if (signed === null) {
    throw new CliError(exit.notFound, 'the plane has lost its copy', {
      code: 'NOT_FOUND',
      hint: 'get it from the service',
    });
  }
  // JSON by its type; the same bytes each time
  const text = `${canonicalize(signed as unknown as Json)}\n`;
  if (flags.out !== undefined && !isStdout(flags.out, call)) {
    await writeOutput(flags.out, Buffer.from(text), call, 0o600);
    await out.note(safe`wrote ${flags.out}: configuration ${bundleVersion}, ${bundleHash}`);
    if (verifierKey !== null) await out.note(safe`signed by the service, whose key is ${verifierKey}`);
    return out.note(safe`on the plane: gov plane config apply ${flags.out}`);
  }
  return out.settings.tty ? out.line(Safe.json(signed, 2)) : out.raw(Buffer.from(text));
};
