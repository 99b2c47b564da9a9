/** Batches that a plane acknowledged with receipts, in a spool; and a plane whose whole directory an older copy replaces. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { planeServe, type RunningPlane } from '../../../plane/serve/start.ts';
import { clientSink } from '../../../src/cli/push/client-sink.ts';
import type { BatchReceipt } from '../../../src/client/receipts/answered.ts';
import { createClient, type Client } from '../../../src/client/create.ts';
import { type Finding, ReceiptKeeper } from '../../../src/client/sending/keeper.ts';
import type { Batch } from '../../../src/client/sending/batch.ts';
import { deliver, type DeliveryResult } from '../../../src/client/sending/deliver.ts';
import { Spool } from '../../../src/client/sending/spool.ts';
import { SpoolQueue } from '../../../src/client/sending/spool-queue.ts';
import type { EventInput } from '../../../src/contract/events.ts';
import type { Json } from '../../../src/core/json/parse.ts';
import { eventIndex } from '../../../src/core/id.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { startPlane } from '../../support/serving.ts';

export class RestoredPlane {
  readonly dataDir: string;
  readonly key: string;
  #plane: RunningPlane;

  private constructor(plane: Awaited<ReturnType<typeof startPlane>>) {
    this.dataDir = plane.dataDir;
    this.key = plane.key;
    this.#plane = plane;
  }

  static async start(): Promise<RestoredPlane> {
    return new RestoredPlane(await startPlane());
  }

  get baseUrl(): string {
    return this.#plane.baseUrl;
  }

  client(): Client {
    return createClient({ baseUrl: this.baseUrl, apiKey: this.key, env: {}, retries: 0 });
  }

  /** Copies the whole directory of the stopped plane. */
  save(): Promise<void> {
    return this.#stopped(() => cpSync(this.dataDir, `${this.dataDir}.saved`, { recursive: true }));
  }

  /** `isLossNamed`: the heads that the plane acknowledged stay, so its log names the lost leaves. */
  restore({ isLossNamed = false } = {}): Promise<void> {
    return this.#stopped(() => {
      const path = join(this.dataDir, 'acked.bin');
      const acked = readFileSync(path);
      rmSync(this.dataDir, { recursive: true });
      cpSync(`${this.dataDir}.saved`, this.dataDir, { recursive: true });
      if (isLossNamed) writeFileSync(path, acked);
    });
  }

  async #stopped(work: () => void): Promise<void> {
    await this.#plane.close();
    work();
    this.#plane = await planeServe({
      log: silentLog,
      env: {},
      overloadDelayMs: 60_000,
      dataDir: this.dataDir,
    });
  }

  async end(): Promise<void> {
    await this.#plane.close();
    rmSync(dirname(this.dataDir), { recursive: true, force: true });
  }
}

export const sentEvent = (n: number, runId = 'held'): EventInput => ({
  clientEventId: `${runId}-${n}`,
  runId,
  eventType: 'step',
  actor: { name: 'agent', type: 'agent' },
  action: 'act',
  timestamp: '2026-03-01T09:30:00.000Z',
  metadata: { n },
});

/** Records events in one batch. Returns their ids and receipts, one for each. */
export async function recorded(client: Client, events: readonly EventInput[]): Promise<BatchReceipt[]> {
  const { body } = await client.createEvents({ body: { events: [...events] } });
  const receipts: BatchReceipt[] = [];
  for (const [at, { eventId }] of body.results.entries()) {
    if (eventId === null) throw new Error('expected an accepted event');
    const { body: stored } = await client.getEvent({ params: { eventId } });
    const { bytes } = await client.getLogReceipt({ params: { index: String(eventIndex(eventId)) } });
    const receipt = Buffer.from(bytes).toString('base64url');
    receipts.push({ receipt, events: [at], eventIds: [eventId], leaves: [stored.leafHash] });
  }
  return receipts;
}

/** The receipts that the answer to one batch carries, as a recorder gets them: the log has signed no checkpoint for them. */
export async function answeredReceipts(
  client: Client,
  events: readonly EventInput[],
): Promise<readonly BatchReceipt[]> {
  const batch = { key: crypto.randomUUID(), events: events as unknown as Json[] };
  return (await deliverHere(batch, client)).receipts ?? [];
}

export const deliverHere = (batch: Pick<Batch, 'key' | 'events'>, client: Client): Promise<DeliveryResult> =>
  deliver(batch, { sink: clientSink(client), signal: new AbortController().signal, retries: 0 });

/** A spool with a keeper, as a recorder has it. */
export class HeldSpool {
  readonly spool: Spool;
  readonly queue: SpoolQueue;
  readonly found: Finding[] = [];
  readonly #target: string;

  constructor(directory: string, target = 'plane') {
    this.#target = target;
    this.spool = Spool.open(directory);
    this.queue = new SpoolQueue(this.spool, 1);
    this.spool.begin({ id: 's', target, sources: ['test'], position: { source: 0, lanes: [-1] } });
  }

  async acknowledge(events: readonly EventInput[], receipts: readonly BatchReceipt[]): Promise<void> {
    const batch: Batch = {
      key: crypto.randomUUID(),
      lane: 0,
      source: 0,
      sourceName: 'test',
      lines: events.map((_, at) => at + 1),
      events: events as unknown as Json[],
      positions: events.map((_, at) => at),
      last: events.length - 1,
    };
    this.queue.append(batch);
    await this.queue.take(0);
    const results = events.map(() => ({ eventId: null, status: 'accepted' as const }));
    await this.queue.settle(0, batch, { results, duplicates: 0, receipts });
  }

  /** `queued` is called after a batch is queued again, before its mark: a throw there is a kill. */
  keeper(client: Client, now: () => number = Date.now, queued: () => void = () => {}): ReceiptKeeper {
    return new ReceiptKeeper({
      spool: this.spool,
      target: this.#target,
      client,
      now,
      resend: (batch) => {
        this.queue.again(batch);
        queued();
      },
      tell: (finding) => void this.found.push(finding),
    });
  }

  kept(): unknown {
    return JSON.parse(readFileSync(`${this.spool.directory}/kept.json`, 'utf8'));
  }

  close(): void {
    this.spool.end();
    this.spool.close();
  }
}
