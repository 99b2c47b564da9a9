/**
 * `gov receipts check`: whether the log has kept what it acknowledged to a spool, and to commands and hooks without
 * one. Reads what they keep, and changes nothing in it.
 * Tested by `test/cli/commands/receipts/check.test.ts`.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { originOf, receiptOf } from '../../../client/receipts/answered.ts';
import { keptAnswers } from '../../../client/sending/kept-answers.ts';
import { configPath, receiptsFolder } from '../../context/config.ts';
import { Spool } from '../../../client/sending/spool.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { requireTrust } from '../../context/trust.ts';
import { exit, usage } from '../../program/exit.ts';
import { stateDirectory } from '../../push/import-time.ts';
import { headsInFile, SeenHeads } from '../../trust/history.ts';
import { type Safe, safe } from '../../terminal/safe.ts';
import { type Column, plainView, type View } from '../../terminal/view.ts';
import { checkHeld, type CheckedReceipt, type HeldReceipt } from '../../receipts/checked.ts';
import type { receiptsCheck as spec } from '../../specs/prove/receipts.ts';

type Call = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (call) => {
  const { flags, io, out, session, signal } = call;
  const { trust } = requireTrust(flags, session);
  const spool =
    flags.spool === undefined ? join(stateDirectory(io.env), 'spool') : resolve(io.cwd, flags.spool);
  const folder = flags.spool === undefined ? receiptsFolder(configPath(io.env)) : null;
  const answered = folder === null || !existsSync(folder) ? null : answeredIn(folder, trust.origin);
  const directory = answered === null || existsSync(spool) ? spool : null;
  const held = [...(directory === null ? [] : heldIn(directory)), ...(answered ?? [])];
  const work = {
    held,
    directory,
    trust,
    given: givenHead(call, trust),
    client: await session.client(),
    seen: SeenHeads.of(call, trust),
    cwd: io.cwd,
    now: io.now(),
    signal,
  };
  const { rows, agreed } = await checkHeld(work);
  async function* pages() {
    yield { items: rows.map((row) => ({ ...row })), nextCursor: null };
  }
  if (rows.length > 0 || !out.isHuman)
    await out.list(pages(), out.isHuman ? shown : plainView(members), 'receipts');
  const looked = [directory, answered === null ? null : folder].filter((each) => each !== null);
  if (rows.length === 0) {
    const kept = `${looked.join(' and ')}: no receipt`;
    await out.note(
      agreed === 0
        ? safe`nothing was compared: ${kept}, and no signed tree of its log`
        : safe`${kept}, and the log has kept the signed tree`,
    );
  }
  if (out.isHuman) await out.lines(rows.flatMap(explained));
  out.verdict = rows.length + agreed === 0 ? exit.partial : exitOf(rows);
  return out.verdict;
};

const members = ['outcome', 'first', 'last', 'signedAt', 'lost', 'evidence', 'detail'];

/** For people: paths and sentences are whole lines below the table. */
const shown: View = (() => {
  const columns: Column[] = [
    { name: 'outcome', kind: 'id' },
    { name: 'first', kind: 'count' },
    { name: 'last', kind: 'count' },
    { name: 'signedAt', kind: 'time' },
    { name: 'lost', kind: 'count' },
  ];
  return { columns, wide: columns, id: 'outcome', items: undefined };
})();

function explained({ outcome, first, last, detail, evidence }: CheckedReceipt): Safe[] {
  if (detail === null) return [];
  const of = first === null ? 'kept tree' : first === last ? `leaf ${first}` : `leaves ${first} to ${last}`;
  const lines = [safe`${outcome}, ${of}: ${detail}`];
  return evidence === null ? lines : [...lines, safe`  evidence: ${evidence}`];
}

/** The held batches with their events. Errors: exit 2 for a directory that is missing, exit 6 for one in use. */
function heldIn(directory: string): HeldReceipt[] {
  if (!existsSync(directory)) throw usage(`--spool: expected a spool, got no folder ${directory}`);
  const spool = Spool.open(directory);
  try {
    return spool.held().flatMap((held) => {
      const { events: sent } = spool.read(held);
      return held.receipts.map((receipt) => ({ receipt, sent }));
    });
  } finally {
    spool.close();
  }
}

/** What commands and hooks without a spool keep, of one log: other logs have keys of their own. */
function answeredIn(folder: string, origin: string): HeldReceipt[] {
  return keptAnswers(folder).flatMap(({ receipt: header, results }) => {
    const receipt = receiptOf(header, results);
    return receipt === null || originOf(receipt) !== origin ? [] : [{ receipt, sent: [] }];
  });
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
