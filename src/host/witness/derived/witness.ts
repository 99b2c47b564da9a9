/**
 * The part of an index witness that reads logs: one lane for each log, the evidence of a refusal, and health.
 * Proven by `test/host/witness/derived/operator.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { createClient, type Client } from '../../../client/create.ts';
import { logEntries } from '../../../client/log-entries.ts';
import type { FalseIndex } from '../../../core/completeness/derive.ts';
import { parseCheckpoint, type Checkpoint } from '../../../core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../core/note/key.ts';
import type { Trust } from '../../../core/note/trust.ts';
import type { Log } from '../../../service/call/log.ts';
import type { Variables } from '../../config/layers.ts';
import type { WitnessStore } from '../store.ts';
import { IndexLane, type IndexAnswer } from './lane.ts';
import type { MapStores } from './map-store.ts';
import { omissionOf } from './omission.ts';

interface Options {
  readonly store: Pick<WitnessStore, 'source' | 'refusal' | 'refuse' | 'logs'>;
  readonly maps: MapStores;
  readonly log: Log;
  readonly env: Variables;
}

interface IndexHealth {
  readonly status: 'ok' | 'refused';
  readonly refused: readonly { readonly origin: string; readonly leaf: number; readonly detail: string }[];
}

export class IndexWitness {
  readonly #options: Options;
  readonly #lanes = new Map<string, { readonly lane: IndexLane; readonly client: Client }>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Whether a checkpoint that a key of the log signed may be cosigned. */
  async judge(note: string, checkpoint: Checkpoint): Promise<IndexAnswer> {
    const { origin } = checkpoint;
    const refusal = this.#options.store.refusal(origin);
    if (refusal !== null) return { kind: 'refused', detail: refusal.detail };
    const lane = this.#laneOf(origin);
    return lane === null
      ? {
          kind: 'behind',
          detail: 'the witness was not told where to read the records (gov witness add-log --read-from)',
        }
      : lane.judge({ checkpoint, note });
  }

  health(): IndexHealth {
    const { store } = this.#options;
    const refused = store.logs().flatMap(({ origin }) => {
      const found = store.refusal(origin);
      return found === null ? [] : [{ origin, leaf: found.leaf, detail: found.detail }];
    });
    return { status: refused.length === 0 ? 'ok' : 'refused', refused };
  }

  async stop(): Promise<void> {
    for (const { lane, client } of this.#lanes.values()) {
      await lane.stop();
      client.close();
    }
  }

  #laneOf(origin: string): IndexLane | null {
    const there = this.#lanes.get(origin);
    if (there !== undefined) return there.lane;
    const { store, maps, env, log } = this.#options;
    const source = store.source(origin);
    if (source === null) return null;
    const apiKey = readFileSync(source.keyFile, 'utf8').trim();
    const client = createClient({ baseUrl: source.url, apiKey, env });
    const lane = new IndexLane({
      records: (range) => logEntries(client, range),
      store: maps.of(origin),
      refuse: (fault, note) => this.#refuse(client, fault, note),
      failed: (error) => log.warn({ err: error, origin }, 'the index of a log was not derived'),
    });
    this.#lanes.set(origin, { lane, client });
    return lane;
  }

  /** Stores the refusal with the evidence, if the log shows enough. */
  async #refuse(client: Client, fault: FalseIndex, note: string): Promise<void> {
    const { store, log } = this.#options;
    const { origin } = parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1));
    const evidence = await omissionOf(client, fault, this.#trustIn(origin)).catch((error: unknown) => {
      log.warn({ err: error, origin }, 'the log did not show what its index has');
      return null;
    });
    const { index: leaf, detail } = fault;
    store.refuse(origin, { leaf, detail, note, evidence });
    log.error({ origin, leaf, detail, note, evidence }, 'a log signed a false index: it is refused for good');
  }

  #trustIn(origin: string): Trust {
    const keys = this.#options.store.logs().find((each) => each.origin === origin)?.keys ?? [];
    return { origin, keys: keys.map(parseVerifierKey), witnesses: [], quorum: 0 };
  }
}
