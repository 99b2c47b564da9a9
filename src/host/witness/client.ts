/**
 * The client of C2SP tlog-witness: sends signed checkpoints of audit logs to the configured witnesses and
 * stores the cosignatures. A lane (lane.ts) schedules the requests of one witness for one log. An exchange
 * (exchange.ts) sends one request. Proven by `test/host/witness/client.test.ts` and
 * `test/plane/witnessed.long.test.ts`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { SignedCheckpoint } from '../../service/log/checkpoints.ts';
import type { Witnesses } from '../../service/hosting/witnesses.ts';
import { WitnessClient } from './lane.ts';
import type { WitnessesOptions } from './options.ts';

export class LogWitnesses implements Witnesses {
  readonly verifierKeys: readonly string[];
  readonly quorum: number;
  readonly #options: WitnessesOptions;
  readonly #clients: readonly WitnessClient[];

  constructor(options: WitnessesOptions) {
    this.#options = options;
    this.quorum = options.quorum;
    this.verifierKeys = options.witnesses.map(({ key }) => key.text);
    this.#clients = options.witnesses.map((witness) => new WitnessClient(witness, options));
  }

  signed(projectId: string, signed: SignedCheckpoint): void {
    for (const client of this.#clients) client.take(projectId, signed, null);
  }

  async cosigned(projectId: string, signed: SignedCheckpoint, unlessSaid = 0): Promise<void> {
    const waitSeconds = this.#options.waitSeconds || unlessSaid;
    if (waitSeconds === 0) return;
    const wanted = this.quorum === 0 ? this.#clients.length : this.quorum;
    const enough = Promise.withResolvers<void>();
    let count = 0;
    const done = (): void => {
      count += 1;
      if (count >= wanted) enough.resolve();
    };
    for (const client of this.#clients) client.take(projectId, signed, done);
    const timeout = new AbortController();
    const { signal } = timeout;
    await Promise.race([enough.promise, delay(waitSeconds * 1000, undefined, { signal }).catch(() => {})]);
    timeout.abort();
  }

  reasons(): readonly string[] {
    return this.#clients.flatMap((client) => client.reasons());
  }

  start(): void {}

  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.stop()));
  }
}
