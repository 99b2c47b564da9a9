/**
 * `gov receipts check`: whether the log has kept what it acknowledged to a spool. Reads the spool and changes nothing in it.
 * Tested by `test/cli/commands/receipts/check.test.ts`.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Batch } from '../../../client/sending/batch.ts';
import { type HeldBatch, Spool } from '../../../client/sending/spool.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { requireTrust } from '../../context/trust.ts';
import { exit, usage } from '../../program/exit.ts';
import { stateDirectory } from '../../push/import-time.ts';
import { headsInFile } from '../../trust/history.ts';
import { plainView } from '../../terminal/view.ts';
import { checkHeads, checkReceipts, type CheckedReceipt } from '../../receipts/checked.ts';
import type { receiptsCheck as spec } from '../../specs/prove/receipts.ts';

type Call = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (call) => {
  const { flags, io, out, session, signal } = call;
  const { trust } = requireTrust(flags, session);
  const directory =
    flags.spool === undefined ? join(stateDirectory(io.env), 'spool') : resolve(io.cwd, flags.spool);
  const held = heldIn(directory);
  const work = {
    held,
    directory,
    trust,
    given: givenHead(call, trust),
    client: await session.client(),
    cwd: io.cwd,
    now: io.now(),
    signal,
  };
  const rows = [...(await checkHeads(work)), ...(await checkReceipts(work))];
  async function* pages() {
    yield { items: rows.map((row) => ({ ...row })), nextCursor: null };
  }
  await out.list(
    pages(),
    plainView(['outcome', 'first', 'last', 'signedAt', 'lost', 'evidence', 'detail']),
    'receipts',
  );
  out.verdict = exitOf(rows);
  return out.verdict;
};

/** The held batches with their events. Errors: exit 2 for a directory that is missing, exit 6 for one in use. */
function heldIn(directory: string): { readonly batch: Batch; readonly held: HeldBatch }[] {
  if (!existsSync(directory)) throw usage(`--spool: expected a spool, got no folder ${directory}`);
  const spool = Spool.open(directory);
  try {
    return spool.held().map((held) => ({ held, batch: spool.read(held) }));
  } finally {
    spool.close();
  }
}

/** The largest tree of `--bundle` or `--checkpoint`; null for the newest one of the service. */
function givenHead({ flags, io }: Call, trust: Parameters<typeof headsInFile>[2]): string | null {
  const { bundle, checkpoint } = flags;
  if (bundle !== undefined && checkpoint !== undefined)
    throw usage('expected --bundle or --checkpoint, got both');
  const file = bundle ?? checkpoint;
  if (file === undefined) return null;
  const heads = headsInFile(file, io.cwd, trust).toSorted((one, other) => other.size - one.size);
  return heads[0]?.note ?? null;
}

const bad = new Set<CheckedReceipt['outcome']>(['broken', 'lost_admitted', 'content_differs']);

/** 3 for a broken promise and for an admitted loss, 10 without a valid proof, 8 while one is pending (amendment Q13). */
function exitOf(rows: readonly CheckedReceipt[]): number {
  if (rows.some(({ outcome }) => bad.has(outcome))) return exit.checkFailed;
  if (rows.some(({ outcome }) => outcome === 'refused')) return exit.network;
  return rows.some(({ outcome }) => outcome === 'pending') ? exit.pending : exit.ok;
}
