/** `gov heads import`. Tested by `test/cli/commands/proofs/history.test.ts`. */
import type { Run } from '../../context/command.ts';
import { requireTrust } from '../../context/trust.ts';
import { headsInFile, printHistory, SeenHeads } from '../../trust/history.ts';
import type { headsImport as spec } from '../../specs/prove/heads.ts';

export const run: Run<typeof spec> = async (call) => {
  const { trust } = requireTrust(call.flags, call.session);
  const heads = headsInFile(call.args.file, call.io.cwd, trust);
  return printHistory(call, trust, { heads, history: await SeenHeads.of(call, trust).judgeEach(heads) });
};
