/** `gov heads export`. Tested by `test/cli/commands/proofs/history.test.ts`. */
import { headsText } from '../../../core/evidence/heads-file.ts';
import type { Run } from '../../context/command.ts';
import { requireTrust } from '../../context/trust.ts';
import { CliError, exit } from '../../program/exit.ts';
import { writeOutput } from '../../terminal/output-file.ts';
import { safe } from '../../terminal/safe.ts';
import { keptHeadsOf } from '../../trust/history.ts';
import type { headsExport as spec } from '../../specs/prove/heads.ts';

export const run: Run<typeof spec> = async (call) => {
  const { flags, io, out, session } = call;
  const { origin, ...trust } = requireTrust(flags, session).trust;
  const { heads } = keptHeadsOf(io.env, { origin, ...trust });
  if (heads.length === 0)
    throw new CliError(exit.notFound, `no signed head of ${origin} is kept on this machine`, {
      code: 'NOT_FOUND',
      hint: 'gov proofs verify FILE keeps the heads of the file',
    });
  const text = headsText(origin, { heads, untrusted: [] });
  await writeOutput(flags.out ?? '-', Buffer.from(text), call);
  if (flags.out !== undefined)
    await out.note(safe`wrote ${String(heads.length)} signed heads of ${origin} to ${flags.out}`);
};
