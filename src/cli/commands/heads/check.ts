/**
 * `gov heads check`: asks the log of the context for its newest checkpoint, and for the path of the last leaf of each kept
 * head. Everything that the log answers is attacker controlled. Tested by `test/cli/commands/proofs/history.test.ts`.
 */
import type { Client } from '../../../client/create.ts';
import { GovApiError } from '../../../client/errors.ts';
import { inclusionPlan, inclusionProof } from '../../../core/merkle/tile-proof.ts';
import { tilePath, tileWidth, type TileId } from '../../../core/merkle/tile-path.ts';
import { tileOf } from '../../../core/merkle/tile-source.ts';
import { hashBytes } from '../../../core/merkle/tree.ts';
import { SignedHead } from '../../../core/note/heads.ts';
import type { Run } from '../../context/command.ts';
import { requireTrust } from '../../context/trust.ts';
import { printHistory, readKept, SeenHeads } from '../../trust/history.ts';
import type { History } from '../../terminal/history.ts';
import type { headsCheck as spec } from '../../specs/prove/heads.ts';

export const run: Run<typeof spec> = async (call) => {
  const { io, flags, session } = call;
  const { trust } = requireTrust(flags, session);
  const client = await session.client();
  const head = SignedHead.open(String((await client.getCheckpoint()).body), trust);
  const kept = readKept(io.env, trust).heads;
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
  const leafTile = tileOf({ start: index, height: 0 }, head.size);
  const tiles = new Map<string, Uint8Array>();
  try {
    for (const tile of [leafTile, ...inclusionPlan(index, head.size)])
      tiles.set(nameOf(tile), await fetchTile(client, tile));
  } catch (cause) {
    if (cause instanceof GovApiError && cause.status === 404) return false;
    throw cause;
  }
  const at = (index % tileWidth) * hashBytes;
  const leaf = tiles.get(nameOf(leafTile))?.subarray(at, at + hashBytes) ?? new Uint8Array();
  const read = (level: number, position: number) =>
    tiles.get(nameOf({ level, index: position })) ?? new Uint8Array();
  return leaf.length === hashBytes && head.add({ index, leaf, path: inclusionProof(index, head.size, read) });
}

const nameOf = ({ level, index }: Pick<TileId, 'level' | 'index'>): string => `${level}/${index}`;

async function fetchTile(client: Client, tile: TileId): Promise<Uint8Array> {
  const { body } = await client.getTile({ params: { '*': tilePath(tile).replace(/^tile\//, '') } });
  return body as Uint8Array;
}
