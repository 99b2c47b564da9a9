/**
 * Witnesses of a project's audit log as the service sees them: told of each signed checkpoint, they cosign it beside
 * (C2SP tlog-witness), and recording and signing never wait for them. `src/host/witness/client.ts` talks to them.
 */
import type { SignedCheckpoint } from './checkpoints.ts';

export interface Witnesses {
  /** Verifier keys of those that are asked. */
  readonly verifierKeys: readonly string[];
  /** How many must have cosigned for `log_inclusion` to pass; 0: it passes without. */
  readonly quorum: number;
  /** Takes a signed checkpoint of the audit log; returns at once and never throws. */
  signed(projectId: string, signed: SignedCheckpoint): void;
  /**
   * Waits until this very checkpoint is cosigned by as many witnesses as asked for (all, where the quorum is 0), at
   * most for the configured time, or `unlessSaid` seconds where none is; never throws.
   */
  cosigned(projectId: string, signed: SignedCheckpoint, unlessSaid?: number): Promise<void>;
  /** What health shows: `witness_refused: …`, `witness_silent: …`. */
  reasons(): readonly string[];
}
