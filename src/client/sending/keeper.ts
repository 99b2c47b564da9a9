/**
 * Checks every `limits.heldCheckSeconds` and at the end that the log has kept acknowledged batches, and releases them from
 * the spool. Events that the log lost are queued again, with their `clientEventId`. Nothing here delays or breaks sending:
 * a check that fails, also at a service without the routes, is tried again later, and `limits` bound what waits for it.
 * The check verifies no signature, because it only compares what the service shows. `gov receipts check` verifies those of
 * the receipts and of the kept tree.
 *
 * A crash leaves: before a release, batches that the next check releases; between a batch that is queued again and its
 * mark, a second copy, whose key is the same, so that the service stores its events once.
 * Tested by `test/client/receipts/keeper.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { sha256Text } from '../../core/hash.ts';
import type { Json } from '../../core/json/parse.ts';
import { type Checkpoint, unverifiedHead } from '../../core/note/checkpoint.ts';
import type { Client } from '../create.ts';
import { GovApiError } from '../errors.ts';
import type { Batch } from './batch.ts';
import type { HeldBatch, Spool } from './spool.ts';
import { openReceipt, type OpenReceipt } from '../receipts/answered.ts';
import { judgeReceipts, type ReceiptVerdict } from '../receipts/judge.ts';
import { keptPath, readKeptHeads, writeKeptHeads } from './kept-head.ts';
import { LogReader } from '../receipts/log-reader.ts';

export type LogClient = Pick<Client, 'getCheckpoint' | 'getLogConsistency' | 'getLogReceipt' | 'getTile'>;

export interface KeeperOptions {
  readonly spool: Spool;
  /** Only batches for this service. */
  readonly target: string;
  readonly client: LogClient;
  readonly now: () => number;
  /** Queues a batch again. Returns after it is on disk. */
  readonly resend: (batch: Batch) => void;
  /** Called with what the log lost or contradicted, and with the failure of a check. */
  readonly tell: (finding: Finding) => void;
}

export type Finding =
  | { readonly kind: 'lost'; readonly events: number }
  | { readonly kind: 'contradicted' }
  | { readonly kind: 'unchecked'; readonly cause: unknown };

export class ReceiptKeeper {
  readonly #options: KeeperOptions;
  readonly #timer: ReturnType<typeof setInterval>;
  #running: { readonly done: Promise<void>; readonly stop: AbortController } | undefined;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.check(), limits.heldCheckSeconds * 1000);
    this.#timer.unref();
  }

  /** Checks what the spool holds now; joins a check that is running. Never throws. */
  check(): Promise<void> {
    const stop = new AbortController();
    this.#running ??= {
      stop,
      done: this.#check(stop.signal)
        .catch((cause: unknown) => this.#options.tell({ kind: 'unchecked', cause }))
        .finally(() => (this.#running = undefined)),
    };
    return this.#running.done;
  }

  /** Ends a check that is running, which a later one repeats: it would keep a process alive. */
  interrupt(): void {
    this.#running?.stop.abort(new Error('the check was interrupted'));
  }

  /** A last check, which takes at most `timeoutMs`; none with 0. Call it before the spool closes. */
  async close(timeoutMs: number = limits.heldCloseMs): Promise<void> {
    clearInterval(this.#timer);
    const timer = setTimeout(() => this.interrupt(), timeoutMs);
    if (timeoutMs === 0) this.interrupt();
    await this.#running?.done;
    if (timeoutMs > 0) await this.check();
    clearTimeout(timer);
  }

  async #check(signal: AbortSignal): Promise<void> {
    const { spool, target, client, now } = this.#options;
    const oldest = now() / 1000 - limits.heldDays * 86_400;
    const open = spool.held(target).map((batch) => ({ batch, receipts: batch.receipts.map(openReceipt) }));
    const isOver = ({ receipts }: (typeof open)[number]): boolean =>
      receipts.every((receipt) => receipt === null || receipt.atSeconds < oldest);
    spool.release(open.filter(isOver).map(({ batch }) => batch));
    const held = open.filter((each) => !isOver(each) && !each.batch.isLost);
    if (held.length === 0) return;
    const receipts = held.flatMap((each) => each.receipts.filter((receipt) => receipt !== null));
    const { note, checkpoint } = await newestCheckpoint(client, largestOf(receipts), signal);
    const log = new LogReader(client, checkpoint, signal);
    const judged = new Map<OpenReceipt | null, ReceiptVerdict>();
    for (const [at, each] of (await judgeReceipts(receipts, log, now())).entries())
      judged.set(receipts[at] ?? null, each);
    await this.#keep(note, log);
    for (const each of held)
      this.#settle(
        each.batch,
        each.receipts.map((receipt) => judged.get(receipt)),
      );
  }

  /** Remembers the tree, and whether it extends the one before. */
  async #keep(note: string, log: LogReader): Promise<void> {
    const { spool, tell } = this.#options;
    const path = keptPath(spool);
    const { newest, contradicted } = readKeptHeads(path);
    const before = newest === null ? null : unverifiedHead(newest);
    // a smaller tree is an older one, or of a log that lost leaves: the leaves say which
    if (before !== null && log.size <= before.size) return;
    const [isExtended] = before === null ? [true] : await log.beginsWith([before]);
    if (newest === null || isExtended === true) return writeKeptHeads(path, { newest: note, contradicted });
    tell({ kind: 'contradicted' });
    writeKeptHeads(path, { newest: note, contradicted: [...contradicted, newest] });
  }

  #settle(batch: HeldBatch, judged: readonly (ReceiptVerdict | undefined)[]): void {
    const { spool, resend, tell } = this.#options;
    const lost = batch.receipts.flatMap(({ events }, which) => {
      const each = judged[which];
      return each?.outcome === 'lost' ? each.lost.flatMap(({ at }) => events[at] ?? []) : [];
    });
    if (lost.length > 0) {
      resend(partOf(spool.read(batch), lost));
      spool.markLost(batch);
      tell({ kind: 'lost', events: lost.length });
    } else if (judged.every((each) => each?.outcome !== 'pending')) spool.release([batch]);
  }
}

interface ReadCheckpoint {
  /** The signed note. */
  readonly note: string;
  readonly checkpoint: Checkpoint;
}

/** The size of the largest tree; 0 for none. There may be more receipts than a call takes arguments. */
export const largestOf = (receipts: readonly (OpenReceipt | null)[]): number =>
  receipts.reduce((most, receipt) => Math.max(most, receipt?.size ?? 0), 0);

/** The newest checkpoint, of at least `size` leaves where the log can sign one. */
export async function newestCheckpoint(
  client: Pick<LogClient, 'getCheckpoint' | 'getLogReceipt'>,
  size: number,
  signal: AbortSignal,
): Promise<ReadCheckpoint> {
  const newest = await readCheckpoint(client, signal);
  if (newest.checkpoint.size >= size) return newest;
  try {
    // a log signs a tree for a receipt that no signed tree covers
    await client.getLogReceipt({ params: { index: String(size - 1) }, signal });
  } catch (cause) {
    if (!(cause instanceof GovApiError) || cause.status !== 404) throw cause;
  }
  return readCheckpoint(client, signal);
}

async function readCheckpoint(
  client: Pick<LogClient, 'getCheckpoint'>,
  signal: AbortSignal,
): Promise<ReadCheckpoint> {
  const { bytes } = await client.getCheckpoint({ signal });
  const note = Buffer.from(bytes).toString();
  return { note, checkpoint: unverifiedHead(note) };
}

/**
 * Some events of a batch, under another key: the service may have kept its answer to the first one. The key follows from
 * the batch and the events, so that events which a crash queues twice are stored once, also without `clientEventId`.
 */
function partOf(batch: Batch, positions: readonly number[]): Batch {
  const part = <Item>(list: readonly Item[]): Item[] =>
    positions.flatMap((at) => {
      const item = list[at];
      return item === undefined ? [] : [item];
    });
  return {
    ...batch,
    key: `lost-${sha256Text(JSON.stringify([batch.key, positions])).slice(7, 47)}`,
    lines: part(batch.lines),
    events: part<Json>(batch.events),
    positions: part(batch.positions),
  };
}
