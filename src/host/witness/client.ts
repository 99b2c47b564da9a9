/**
 * The client of C2SP tlog-witness: signed checkpoints of audit logs go to the configured witnesses, and the cosignatures
 * are kept beside the checkpoints. Of each witness and log a lane (lane.ts) says what is sent when, and an exchange
 * (exchange.ts) what is said. Proven by `test/host/witness/client.test.ts` and `test/plane/witnessed.long.test.ts`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionOptions } from '../../client/transport.ts';
import type { VerifierKey } from '../../core/note/key.ts';
import type { SignedCheckpoint } from '../../service/log/checkpoints.ts';
import type { Log } from '../../service/call/log.ts';
import type { Witnesses } from '../../service/log/witnesses.ts';
import type { Store } from '../../store/port/store.ts';
import type { OwnLog } from './lacked-head.ts';
import { WitnessClient } from './lane.ts';

export interface WitnessConfig {
  /** Submission prefix, below which `add-checkpoint` is. */
  readonly url: string;
  readonly key: VerifierKey;
}

export interface WitnessesOptions {
  readonly witnesses: readonly WitnessConfig[];
  readonly quorum: number;
  /** How long a proof waits for cosignatures. */
  readonly waitSeconds: number;
  readonly store: Pick<
    Store,
    'tiles' | 'head' | 'leaf' | 'leavesOf' | 'saveCosignatures' | 'witnessedCheckpoint'
  >;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** From 0 up to 1, for the jitter of waits. */
  readonly random: () => number;
  readonly log: Log;
  /** The only log of this process, of a plane: where a witness shows that it lacks what it signed, it is told. */
  readonly own?: OwnLog;
  /** Proxies, further authorities. */
  readonly connection?: Omit<ConnectionOptions, 'baseUrl'>;
}

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
