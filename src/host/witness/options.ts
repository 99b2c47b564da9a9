/**
 * The options of a witness client.
 */
import type { ConnectionOptions } from '../../client/transport.ts';
import type { VerifierKey } from '../../core/note/key.ts';
import type { Log } from '../../service/call/log.ts';
import type { Store } from '../../store/port/store.ts';
import type { OwnLog } from './lacked-head.ts';

export interface WitnessConfig {
  /** Submission prefix, the parent of `add-checkpoint`. */
  readonly url: string;
  readonly key: VerifierKey;
}

export interface WitnessesOptions {
  readonly witnesses: readonly WitnessConfig[];
  readonly quorum: number;
  /** Seconds that a proof waits for cosignatures. */
  readonly waitSeconds: number;
  readonly store: Pick<
    Store,
    'tiles' | 'head' | 'leaf' | 'leavesOf' | 'saveCosignatures' | 'witnessedCheckpoint'
  >;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** A number from 0 up to 1, for jitter. */
  readonly random: () => number;
  readonly log: Log;
  /** The only log of a plane's process. It stops signing where a witness proves that leaves are missing. */
  readonly own?: OwnLog;
  /** Proxies and additional authorities. */
  readonly connection?: Omit<ConnectionOptions, 'baseUrl'>;
}
