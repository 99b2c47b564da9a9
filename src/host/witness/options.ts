/** What a client of witnesses is given. */
import type { ConnectionOptions } from '../../client/transport.ts';
import type { VerifierKey } from '../../core/note/key.ts';
import type { Log } from '../../service/call/log.ts';
import type { Store } from '../../store/port/store.ts';
import type { OwnLog } from './lacked-head.ts';

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
