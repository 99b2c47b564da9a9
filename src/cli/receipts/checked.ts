/**
 * What became of the receipts of a spool under a newer signed tree. Nothing counts without a signature of a trusted key.
 * Tested by `test/cli/commands/receipts/check.test.ts`.
 */
import { resolve } from 'node:path';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { type BatchReceipt, openReceipt, type OpenReceipt } from '../../client/receipts/answered.ts';
import { judgeReceipts, type LostLeaf } from '../../client/receipts/judge.ts';
import { largestOf, newestCheckpoint } from '../../client/sending/keeper.ts';
import { keptPath, readKeptHeads } from '../../client/sending/kept-head.ts';
import { LogReader } from '../../client/receipts/log-reader.ts';
import type { Client } from '../../client/create.ts';
import { GovApiError, GovNetworkError } from '../../client/errors.ts';
import type { Json } from '../../core/json/parse.ts';
import { brokenReceiptText, splitViewText, verifyEvidence } from '../../core/evidence/file.ts';
import { sha256Text } from '../../core/hash.ts';
import { compareHeads, SignedHead } from '../../core/note/heads.ts';
import { NoteError } from '../../core/note/signed.ts';
import type { Trust } from '../../core/note/trust.ts';
import { verifyReceipt } from '../../core/receipt/cose.ts';
import { formatTimestamp } from '../../core/time.ts';
import { writeWhole } from '../terminal/output-file.ts';
import { differsFromStored } from './content.ts';
import { findLoss } from './losses.ts';

export interface CheckedReceipt {
  readonly outcome: 'kept' | 'pending' | 'lost_admitted' | 'broken' | 'refused' | 'content_differs';
  /** Leaves; null for a kept tree. */
  readonly first: number | null;
  readonly last: number | null;
  readonly signedAt: string | null;
  readonly lost: number;
  readonly evidence: string | null;
  readonly detail: string | null;
}

/** A receipt with the events of its batch, or with none where only the receipt was kept. */
export interface HeldReceipt {
  readonly receipt: BatchReceipt;
  readonly sent: readonly Json[];
}

export interface CheckWork {
  readonly held: readonly HeldReceipt[];
  /** The spool; null where there is none. */
  readonly directory: string | null;
  readonly trust: Trust;
  /** A signed note to compare with; null for the newest one of the service. */
  readonly given: string | null;
  readonly client: Client;
  /** What this machine has seen of the log elsewhere. */
  readonly seen: {
    readonly sizes: readonly number[];
    /** Compares the tree with them, and remembers it. */
    judge(heads: readonly SignedHead[]): Promise<{
      readonly detail: string | null;
      /** Of a split view. */
      readonly evidence: string | null;
    } | null>;
  };
  readonly cwd: string;
  readonly now: number;
  readonly signal: AbortSignal;
}

interface Newest {
  readonly head: SignedHead;
  readonly log: LogReader;
}

/** With the tree that everything is compared with, which is asked for once, when it is first needed. */
interface Comparing extends CheckWork {
  readonly newest: () => Promise<Newest>;
}

export interface CheckedSpool {
  /** What became of the kept trees that do not agree, then of the receipts. */
  readonly rows: readonly CheckedReceipt[];
  /** How many kept trees agree with the newest one. */
  readonly agreed: number;
}

export async function checkHeld(work: CheckWork): Promise<CheckedSpool> {
  let asked: Promise<Newest> | undefined;
  const comparing = { ...work, newest: () => (asked ??= newestOf(work)) };
  const { rows: trees, agreed } = await checkHeads(comparing);
  const rows = [...trees, ...(await checkReceipts(comparing))];
  return { rows: [...(asked === undefined ? [] : await splitFrom(asked, work)), ...rows], agreed };
}

/** A split view of the newest tree and one that this machine has seen elsewhere. */
async function splitFrom(asked: Promise<Newest>, { seen }: CheckWork): Promise<CheckedReceipt[]> {
  const row = { first: null, last: null, signedAt: null, lost: 0 };
  const newest = await asked.catch(() => null); // its receipts say why
  if (newest === null) return [];
  const { head, log } = newest;
  const size = Math.max(0, ...seen.sizes.filter((each) => each <= head.size));
  try {
    // the path of its last leaf shows whether the newest tree begins with it
    if (size > 0) head.add(await log.leaf(size - 1));
  } catch (cause) {
    const detail = `the tree of ${size} leaves that this machine has seen: ${reasonOf(cause)}`;
    return [{ ...row, outcome: 'refused', evidence: null, detail }];
  }
  const found = await seen.judge([head]);
  if (found === null || found.evidence === null) return [];
  const { detail, evidence } = found;
  return [{ ...row, outcome: 'broken', detail, evidence }];
}

/** Throws NoteError for a checkpoint that no trusted key signed, and the errors of the client. */
async function newestOf({ given, held, client, trust, signal }: CheckWork): Promise<Newest> {
  const size = largestOf(held.map(({ receipt }) => openReceipt(receipt)));
  const note = given ?? (await newestCheckpoint(client, size, signal)).note;
  const head = SignedHead.open(note, trust);
  return { head, log: new LogReader(client, head, signal) };
}

/** Whether a failure means that the log gave no valid proof. Others are thrown. */
function reasonOf(cause: unknown): string {
  if (cause instanceof NoteError && cause.fault === 'no_trusted_signature')
    return `${cause.message}. ${rotated}`;
  if (cause instanceof GovApiError || cause instanceof GovNetworkError || cause instanceof GovError)
    return cause.message;
  throw cause;
}

/** A rotation of keys is no broken promise, and an older or newer trust file cannot tell. */
const rotated =
  'If the log rotated its keys, the trust file needs the keys of both times: gov trust fetch gets those of now, to which you add the log lines of the file that you have';

/** Trees that the log showed before: only those that it contradicts or did not sign are listed. */
async function checkHeads(work: Comparing): Promise<CheckedSpool> {
  const { directory } = work;
  const rows: CheckedReceipt[] = [];
  let agreed = 0;
  if (directory === null) return { rows, agreed };
  const { newest, contradicted } = readKeptHeads(keptPath({ directory }));
  for (const note of [...contradicted, ...(newest === null ? [] : [newest])]) {
    const row = await checkHead(note, work);
    if (row === 'agrees') agreed += 1;
    else if (row !== null) rows.push(row);
  }
  return { rows, agreed };
}

/** Null where nothing is compared: the newest tree is smaller, or gives no path to the kept one. */
async function checkHead(note: string, work: Comparing): Promise<CheckedReceipt | 'agrees' | null> {
  const row = { first: null, last: null, signedAt: null, lost: 0, evidence: null };
  try {
    const kept = SignedHead.open(note, work.trust);
    const { head, log } = await work.newest();
    if (kept.size > head.size || kept.size === 0) return null;
    head.add(await log.leaf(kept.size - 1));
    const compared = compareHeads(kept, head);
    if (compared.result === 'unknown') return null;
    if (compared.result !== 'split') return 'agrees';
    const text = splitViewText({ heads: [kept, head], paths: compared.paths });
    return {
      ...row,
      outcome: 'broken',
      evidence: written('split-view', text, work),
      detail: compared.detail,
    };
  } catch (cause) {
    return { ...row, outcome: 'refused', detail: `the kept tree: ${reasonOf(cause)}` };
  }
}

async function checkReceipts(work: Comparing): Promise<CheckedReceipt[]> {
  const opened = work.held.map(({ receipt }) => openReceipt(receipt));
  await askTogether(
    opened.filter((receipt) => receipt !== null),
    work,
  );
  const rows: CheckedReceipt[] = [];
  for (const [which, { receipt, sent }] of work.held.entries()) {
    const { events, eventIds } = receipt;
    const open = opened[which] ?? null;
    if (open === null) continue;
    const own = events.map((at, position) => ({ event: sent[at], eventId: eventIds[position] }));
    rows.push(await checkReceipt(open, own, work));
  }
  return rows;
}

/** Asks for the proofs of all receipts in few requests. What fails is asked for again with its receipt, which names it. */
async function askTogether(receipts: readonly OpenReceipt[], work: Comparing): Promise<void> {
  if (receipts.length === 0) return;
  try {
    await (await work.newest()).log.beginsWith(receipts);
  } catch (cause) {
    reasonOf(cause);
  }
}

async function checkReceipt(
  open: OpenReceipt,
  sent: Parameters<typeof differsFromStored>[0],
  work: Comparing,
): Promise<CheckedReceipt> {
  const row = {
    first: open.first,
    last: open.first + open.leaves.length - 1,
    signedAt: formatTimestamp(open.atSeconds * 1000),
    lost: 0,
    evidence: null,
    detail: null,
  };
  try {
    verifyReceipt(open.bytes, open.leaves, work.trust);
    const { head, log } = await work.newest();
    const [judged] = await judgeReceipts([open], log, work.now);
    if (judged?.outcome === 'lost')
      return { ...row, ...(await ofLost(open, judged.lost, { head, log }, work)) };
    if (judged?.outcome === 'pending')
      return isLater(open, work)
        ? {
            ...row,
            outcome: 'refused',
            detail: 'the receipt states a time after now: is the clock of this machine right?',
          }
        : { ...row, outcome: 'pending' };
    const difference = await differsFromStored(sent, work);
    return difference === null
      ? { ...row, outcome: 'kept' }
      : { ...row, outcome: 'content_differs', detail: difference };
  } catch (cause) {
    return { ...row, outcome: 'refused', detail: reasonOf(cause) };
  }
}

/** A receipt of the future would be pending for as long as the log likes. */
const isLater = ({ atSeconds }: OpenReceipt, { now }: CheckWork): boolean =>
  atSeconds * 1000 > now + limits.receiptSeconds * 1000;

async function ofLost(
  { bytes, leaves, atSeconds }: OpenReceipt,
  lost: readonly LostLeaf[],
  { head, log }: Newest,
  work: CheckWork,
): Promise<Pick<CheckedReceipt, 'outcome' | 'lost' | 'evidence' | 'detail'>> {
  const loss = await findLoss(
    lost.map(({ index }) => index),
    log,
    { ...work, ackedMs: atSeconds * 1000 },
  );
  if (loss !== null)
    return {
      outcome: 'lost_admitted',
      lost: lost.length,
      evidence: null,
      detail: `leaf ${loss} of the log says so`,
    };
  const { other } = lost.find((each) => each.other !== null) ?? { other: null };
  const text = brokenReceiptText({ receipt: bytes, leaves, checkpoint: head.note, other });
  const { verified, detail } = verifyEvidence(Buffer.from(text), work.trust);
  if (!verified) return { outcome: 'refused', lost: 0, evidence: null, detail };
  return { outcome: 'broken', lost: lost.length, evidence: written('broken-receipt', text, work), detail };
}

/** The name follows from the content, so no evidence replaces another. */
function written(kind: string, text: string, { cwd }: CheckWork): string {
  const path = resolve(cwd, `${kind}-${sha256Text(text).slice(7, 15)}.govevidence.json`);
  writeWhole(path, Buffer.from(text));
  return path;
}
