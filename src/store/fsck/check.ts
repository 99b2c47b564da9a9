/**
 * `fsck`: the report, and the parts of the check that its files share.
 * Proven by `test/store/fsck/run.test.ts`.
 */
import type { KeyHistory } from '../../core/note/key-history.ts';
import type { VerifierKey } from '../../core/note/key.ts';
import type { Organizations } from './tenants/organization-life.ts';
import type { Connection } from '../file/connection.ts';

export type FsckKind =
  | 'schema_altered'
  | 'record_missing'
  | 'record_altered'
  | 'record_beyond_head'
  | 'record_malformed'
  | 'tile_missing'
  | 'tile_altered'
  | 'root_mismatch'
  | 'checkpoint_missing'
  | 'checkpoint_mismatch'
  | 'checkpoint_signature'
  | 'log_key_mismatch'
  | 'event_id_mismatch'
  | 'server_time_backwards'
  | 'run_mismatch'
  | 'counter_mismatch'
  | 'body_missing'
  | 'body_altered'
  | 'erasure_mismatch'
  | 'prune_mismatch'
  | 'meter_totals'
  | 'meter_coverage'
  | 'meter_ref'
  | 'period_mismatch'
  | 'index_mismatch'
  | 'policy_mismatch'
  | 'config_mismatch'
  | 'approval_mismatch'
  | 'replay_mismatch'
  | 'proof_mismatch'
  | 'graph_mismatch'
  | 'key_mismatch'
  | 'project_mismatch'
  | 'organization_mismatch'
  | 'plane_mismatch'
  | 'export_mismatch'
  | 'document_mismatch'
  | 'report_altered'
  | 'report_mismatch'
  | 'receipt_mismatch'
  | 'usage_mismatch'
  | 'not_checkable'
  | 'heads_mismatch'
  | 'file_corrupt';

export interface FsckProblem {
  /**
   * The place of the problem: `prj_…/audit/123`, `prj_…/metering/5`, `prj_…/run/R`, `prj_…/audit/tile/1/0`, …
   */
  readonly position: string;
  readonly kind: FsckKind;
  readonly expected: string;
  readonly got: string;
}

export interface FsckReport {
  readonly ok: boolean;
  /** The first 1000 problems. */
  readonly problems: readonly FsckProblem[];
  /** Number of all problems. */
  readonly found: number;
  readonly projects: number;
  /** Audit and metering leaves read. */
  readonly leaves: number;
  readonly checkpoints: number;
  /** Bodies about subjects that were not opened, because the keys of subjects are missing. */
  readonly unopened: number;
  readonly deep: boolean;
}

export type JudgeNote = (
  note: string,
  origin: string,
  inForce: readonly VerifierKey[] | null,
) => string | null;

/**
 * Returns the time, in seconds, of the service's own cosignature in a note. Returns a text with the reason if
 * none is valid.
 */
export type JudgeReceipt = (note: string) => number | string;

/** The context that all parts of the check get. */
export interface Check {
  readonly db: Connection;
  readonly deep: boolean;
  readonly judgeNote: JudgeNote | undefined;
  readonly judgeReceipt: JudgeReceipt | undefined;
  /**
   * The keys that sign a log, by number of the project. Contains the audit leaves read so far, and only logs
   * that name their keys.
   */
  readonly keys: Map<number, KeyHistory>;
  readonly organizations: Organizations;
  problem(position: string, kind: FsckKind, what: { expected: string; got: string }): void;
  /** Counts a step of leaves; lets the event loop turn. */
  read(leaves: number): Promise<void>;
  checkpoint(): void;
  /** Counts a body that could not be opened. */
  unopened(): void;
}

export interface CheckedProject {
  readonly no: number;
  readonly projectId: string;
  readonly organizationId: string;
  readonly environment: string;
  readonly auditOrigin: string;
  readonly meteringOrigin: string;
  /** Both heads from one transaction. Leaves below them never change. */
  readonly auditSize: number;
  readonly meteringSize: number;
}
