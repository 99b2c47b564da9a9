/** An export that is made while others record holds the rows of the log as it stood, all of them and no other. */
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'csv-parse/sync';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event, type Answer } from '../../support/serving.ts';
import { exportEnd } from '../support/filled.ts';

/** About 1,000 events a second where the machine keeps up; nothing below depends on it. */
const [everyMs, atOnce, atATime] = [20, 20, 8];
const before = 2000;

describe.each(engines)('an export on %s while 1,000 events a second arrive', (engine) => {
  let service: TestService;
  let tenant: Tenant;

  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
  });
  afterAll(() => service.end());

  /** Records until told to stop; notes of each event when it was sent and when it was acknowledged, by one count. */
  class Stream {
    readonly sent = new Map<string, number>();
    readonly acknowledged = new Map<string, number>();
    tick = 0;
    #stopped = false;
    readonly #open = new Set<Promise<void>>();
    readonly #done: Promise<void>;

    constructor() {
      this.#done = this.#run();
    }

    async #run(): Promise<void> {
      for (let n = 0; !this.#stopped; n += 1) {
        while (this.#open.size >= atATime) await Promise.race(this.#open);
        const posting: Promise<void> = this.#post(n).finally(() => this.#open.delete(posting));
        this.#open.add(posting);
        await wait(everyMs);
      }
      await Promise.all(this.#open);
    }

    async #post(n: number): Promise<void> {
      const ids = Array.from({ length: atOnce }, (_, at) => `${n}-${at}`);
      const events = ids.map((clientEventId) =>
        event({ runId: n % 2 === 0 ? 'even' : 'odd', clientEventId, metadata: { text: 'x'.repeat(200) } }),
      );
      this.tick += 1;
      for (const id of ids) this.sent.set(id, this.tick);
      const { status, text } = await tenant.call('POST', '/events/batch', { body: { events } });
      if (status !== 201) throw new Error(text);
      this.tick += 1;
      for (const id of ids) this.acknowledged.set(id, this.tick);
    }

    async until(count: number): Promise<void> {
      while (this.acknowledged.size < count) await Promise.race([wait(everyMs), this.#done]);
    }

    stop(): Promise<void> {
      this.#stopped = true;
      return this.#done;
    }
  }

  interface Seen {
    readonly asked: number;
    readonly answered: number;
    readonly treeSize: number;
    readonly rows: readonly { readonly sequence: number; readonly clientEventId: string }[];
  }

  async function made(stream: Stream, body: Record<string, unknown>): Promise<Seen> {
    const asked = (stream.tick += 1);
    const { body: created } = await tenant.call('POST', '/exports', {
      body: { resource: 'audit_events', ...body },
    });
    const answered = (stream.tick += 1);
    const { status, manifest, rowCount } = await exportEnd(tenant.call, created.exportId);
    expect(status).toBe('completed');
    const { bytes } = await tenant.call('GET', `/exports/${created.exportId}/download`);
    const found: Answer['body'][] =
      body['format'] === 'csv'
        ? parse(bytes, { columns: true, record_delimiter: '\r\n' })
        : JSON.parse(bytes.toString('utf8')).data;
    expect(found.length).toBe(rowCount);
    const rows = found.map(({ sequence, clientEventId }) => ({
      sequence: Number(sequence),
      clientEventId: clientEventId ?? '',
    }));
    return { asked, answered, treeSize: manifest.treeSize, rows };
  }

  /** Sequences of a run, ascending, as its list has them. */
  async function sequencesOf(runId: string): Promise<number[]> {
    const found: number[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const path: string = `/events?runId=${runId}&limit=1000${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const { body } = await tenant.call('GET', path);
      found.push(...body.events.map(({ sequence }: { sequence: number }) => sequence));
      cursor = body.nextCursor;
    }
    return found;
  }

  it('holds exactly the events below its tree size: none that came later, and none less', async () => {
    const stream = new Stream();
    await stream.until(before);
    const all = await made(stream, { format: 'json', includeProof: true });
    const asTable = await made(stream, { format: 'csv' });
    const even = await made(stream, { format: 'json', filters: { runId: 'even' } });
    await stream.until(stream.acknowledged.size + 100); // so that something came after each of them
    await stream.stop();

    const runs = {
      even: await sequencesOf('even'),
      odd: await sequencesOf('odd'),
      system: await sequencesOf('gov.system'),
    };
    const whole = [...runs.even, ...runs.odd, ...runs.system].toSorted((a, b) => a - b);
    for (const [{ rows, treeSize, asked, answered }, log] of [
      [all, whole],
      [asTable, whole],
      [even, runs.even],
    ] as const) {
      expect(rows.map(({ sequence }) => sequence)).toEqual(log.filter((sequence) => sequence < treeSize));
      expect(log.some((sequence) => sequence >= treeSize)).toBe(true);
      const ids = new Set(rows.map(({ clientEventId }) => clientEventId));
      for (const [id, at] of stream.acknowledged) {
        const isOfRun = log === whole || Number(id.split('-')[0]) % 2 === 0;
        if (at < asked && isOfRun) expect(ids.has(id), `${id}, recorded before`).toBe(true);
      }
      for (const [id, at] of stream.sent) {
        if (at > answered) expect(ids.has(id), `${id}, sent after`).toBe(false);
      }
    }
  });
});
