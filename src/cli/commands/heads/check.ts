/**
 * `gov heads check`: asks the log of the context for its newest checkpoint, and for the path of the last leaf of each kept
 * head. Everything that the log answers is attacker controlled. Tested by `test/cli/commands/proofs/history.test.ts`.
 */
import type { Client } from '../../../client/create.ts';
import { GovApiError } from '../../../client/errors.ts';
import { inclusionFromTiles } from '../../../client/log-entries.ts';
import { hashBytes } from '../../../core/merkle/tree.ts';
import { SignedHead } from '../../../core/note/heads.ts';
import type { Run } from '../../context/command.ts';
import { requireTrust } from '../../context/trust.ts';
import { printHistory, keptHeadsOf, SeenHeads } from '../../trust/history.ts';
import type { History } from '../../terminal/history.ts';
import type { headsCheck as spec } from '../../specs/prove/heads.ts';

export const run: Run<typeof spec> = async (call) => {
  const { io, flags, session } = call;
  const { trust } = requireTrust(flags, session);
  const client = await session.client();
  const head = SignedHead.open(String((await client.getCheckpoint()).body), trust);
  const kept = keptHeadsOf(io.env, trust).heads;
  const faults: string[] = [];
  for (const { size } of kept) {
    if (size > head.size)
      faults.push(`the newest checkpoint has ${head.size} leaves, and a kept head has ${size}`);
    else if (size > 0 && size < head.size && !(await addPath(client, head, size - 1)))
      faults.push(`the log shows no valid path of leaf ${size - 1} in its tree of ${head.size} leaves`);
  }
  const history = await SeenHeads.of(call, trust).judge([head]);
  const shown: History | null =
    history !== null && history.result !== 'split' && faults.length > 0
      ? { ...history, result: 'not_compared', detail: faults.join('; ') }
      : history;
  return printHistory(call, trust, { heads: [head], history: shown });
};

/** Adds the path of a leaf from the tiles of the log. False where they do not lead to the root. */
async function addPath(client: Client, head: SignedHead, index: number): Promise<boolean> {
  try {
    const { leaf, path } = await inclusionFromTiles(client, { index, size: head.size });
    return leaf.length === hashBytes && head.add({ index, leaf, path });
  } catch (cause) {
    if (cause instanceof GovApiError && cause.status === 404) return false;
    throw cause;
  }
}
