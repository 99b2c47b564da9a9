/** What the parts of fsck share, and what fsck reports. */
import type { KeyHistory } from '../../core/note/key-history.ts';
import type { VerifierKey } from '../../core/note/key.ts';
import type { Organizations } from './tenants/organization-life.ts';
import type { Connection } from '../file/connection.ts';

export type FsckKind =
  | 'record_missing'
  | 'record_altered'
  | 'record_beyond_head'
  | 'record_malformed'
  | 'tile_missing'
  | 'tile_altered'
  | 'root_mismatch'
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
  | 'report_altered'
  | 'report_mismatch'
  | 'receipt_mismatch'
  | 'usage_mismatch'
  | 'not_checkable'
  | 'heads_mismatch'
  | 'file_corrupt';

export interface FsckProblem {
  /** Where: `prj_…/audit/123`, `prj_…/metering/5`, `prj_…/run/R`, `prj_…/audit/tile/1/0`, … */
  readonly position: string;
  readonly kind: FsckKind;
  readonly expected: string;
  readonly got: string;
}

export interface FsckReport {
  readonly ok: boolean;
  /** At most 1000 of them. */
  readonly problems: readonly FsckProblem[];
  /** All problems found. */
  readonly found: number;
  readonly projects: number;
  /** Audit and metering leaves read. */
  readonly leaves: number;
  readonly checkpoints: number;
  /** Bodies about subjects that were not looked into, since the keys of subjects are not there. */
  readonly unopened: number;
  readonly deep: boolean;
}

export type JudgeNote = (
  note: string,
  origin: string,
  inForce: readonly VerifierKey[] | null,
) => string | null;

/** The time in seconds of the service's own cosignature in a note, or why there is none that holds. */
export type JudgeReceipt = (note: string) => number | string;

/** What the parts of the check share. */
export interface Check {
  readonly db: Connection;
  readonly deep: boolean;
  readonly judgeNote: JudgeNote | undefined;
  readonly judgeReceipt: JudgeReceipt | undefined;
  /** By the number of a project, as far as its audit log was read: the keys that sign it, where it says so. */
  readonly keys: Map<number, KeyHistory>;
  readonly organizations: Organizations;
  problem(position: string, kind: FsckKind, what: { expected: string; got: string }): void;
  /** A step of leaves was read; lets the event loop turn. */
  read(leaves: number): Promise<void>;
  checkpoint(): void;
  /** A body could not be looked into. */
  unopened(): void;
}

export interface CheckedProject {
  readonly no: number;
  readonly projectId: string;
  readonly organizationId: string;
  readonly auditOrigin: string;
  readonly meteringOrigin: string;
  /** Both heads of one moment: leaves below them do not change any more. */
  readonly auditSize: number;
  readonly meteringSize: number;
}
