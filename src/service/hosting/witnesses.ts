/**
 * Witnesses of a project's audit log, as the service uses them (C2SP tlog-witness). They cosign each signed
 * checkpoint in the background; recording and signing never wait for them. `src/host/witness/client.ts`
 * implements this. Proven by `test/host/witness/client.test.ts`.
 */
import type { SignedCheckpoint } from '../log/checkpoints.ts';

export interface Witnesses {
  /** Verifier keys of the configured witnesses. */
  readonly verifierKeys: readonly string[];
  /** How many cosignatures the layer `log_inclusion` needs to pass; 0 for none. */
  readonly quorum: number;
  /** Takes a signed checkpoint of the audit log. Returns at once and never throws. */
  signed(projectId: string, signed: SignedCheckpoint): void;
  /**
   * Waits until enough witnesses have cosigned this checkpoint (all of them, where the quorum is 0). Waits at
   * most for the configured time, or `unlessSaid` seconds by default. Never throws.
   */
  cosigned(projectId: string, signed: SignedCheckpoint, unlessSaid?: number): Promise<void>;
  /** Reasons that health shows: `witness_refused: …`, `witness_silent: …`. */
  reasons(): readonly string[];
}
