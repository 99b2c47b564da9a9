/**
 * The result of a verification: a verdict with its checks, layers and codes. A verdict is a value, never an exception,
 * whatever the file contains. A layer that does not hold according to the log has other codes than tampering.
 * Proven by `test/core/proofs/verify.test.ts`.
 */
import type { GovError } from '../../contract/problems.ts';
import type { SignatureFacts } from '../note/signed-by.ts';
import type { Completeness } from './strength.ts';
import { NoteError } from '../note/signed.ts';

/** Why the layer `x-recordings` is not satisfied, or does not run. */
const recordingCodes = {
  NO_RECORDING: 'The run has no recording',
  RECORDING_WITHOUT_BALANCE: 'A recording of the run has no balance',
  RECORDING_NOT_COUNTED: 'The scanner finds nothing in the recordings, so no sum was compared',
  RECORDING_UNBALANCED: 'The sums of a recording do not come out',
  RECORDING_LEFT_OUT: 'Parts of a recording are in no event',
} as const;
export type RecordingCode = keyof typeof recordingCodes;

export const isRecordingCode = (code: unknown): code is RecordingCode =>
  typeof code === 'string' && Object.hasOwn(recordingCodes, code);

/** Every code of a verdict, and its meaning. */
export const verdictCodes = {
  // The verifier cannot judge the file, or the caller gave no trust.
  MALFORMED_BUNDLE: 'The file is not a proof bundle',
  TOO_LARGE: 'The file is larger than a proof bundle may be',
  NO_TRUSTED_KEY: 'No trusted key was given, so no signature could be checked',
  // Tampering, or parts of different proofs.
  COMMITMENT_MISMATCH: 'Members of the proof contradict each other',
  LAYERS_INVALID: 'The list of layers is empty, unordered, or names an unknown layer',
  HASH_MISMATCH: 'A hash does not match its text',
  STATEMENT_INVALID: 'A layer statement is malformed or contradicts its layer',
  EVIDENCE_MISMATCH: 'Layer statements are about different runs, times or logs',
  SIGNATURE_INVALID: 'A checkpoint or a report is not signed by a trusted key',
  ORIGIN_MISMATCH: 'A checkpoint belongs to another log',
  NOT_INCLUDED: 'A leaf is not in the tree',
  NOT_CONSISTENT: 'The later checkpoint does not extend the earlier one',
  ROOT_MISMATCH: 'The layers are about another tree than the checkpoint',
  EVENTS_MISMATCH: 'The events in the bundle are not the events of the run',
  DISCLOSURE_MISMATCH: 'A disclosed value does not match the commitment of the event',
  DISCLOSURE_MISSING: 'A committed value is neither disclosed, nor listed as withheld, nor erased by the log',
  GRAPH_MISMATCH: 'The graph in the bundle differs from the logged graph',
  LAYER_MISMATCH: 'A recomputed layer differs from its statement',
  INDEX_INVALID: 'What the file shows of the index of the log does not belong to it',
  INDEX_FALSE: 'The index of the log is not the one that its records give',
  INDEX_TOO_OLD: 'The index of the log does not cover the proof',
  RUN_INCOMPLETE: 'The log has more events or decisions of the run than the proof shows',
  RUN_SHORTER_THAN_SHOWN: 'The log has fewer events or decisions of the run than the proof shows',
  RUN_DIFFERS: 'The events of the proof are not those that the log has of the run',
  ANSWER_INVALID: 'What the answer shows does not answer its question',
  PERIOD_NOT_COVERED: 'The index of the log does not cover the whole period',
  SUBJECT_MISMATCH: 'The attestation in the bundle is about another proof',
  MALFORMED_EXPORT: 'The file is not an export in the exact form that the service writes',
  EXPORT_WITHOUT_PROOF: 'The export has no proof, so it cannot be verified',
  EXPORT_MISMATCH: 'The file does not match the export request in the log',
  ROW_MISMATCH: 'A row contradicts its leaf',
  EXPORT_INCOMPLETE: 'The log has more rows that match the filters than the file shows',
  EXPORT_DIFFERS: 'The rows are not those that the index of the log lists',
  MANIFEST_MISMATCH: 'The manifest does not match the rows',
  MALFORMED_REPORT: 'The file is not a report in the exact form that gov writes',
  REPORT_EXTENDED: 'Bytes were added to the report after gov wrote it, such as a signature or a note',
  DATA_HASH_MISMATCH: 'The report has another data hash than expected',
  SIGNATURE_MISSING: 'A signature of the log is missing',
  REPORT_SIGNATURE_MISMATCH: 'The log signed another report, not this one',
  ATTACHMENT_MISMATCH: 'An attached file is missing, not named by the report, or differs from its hash',
  CHECKPOINT_MISMATCH: 'The report is about another tree than its signed checkpoint',
  PROOF_NOT_VERIFIED: 'An attached proof does not verify',
  RUN_NOT_COMPLIANT: 'An attached proof is authentic, and shows that its run broke a policy',
  PAGES_DIFFER: 'The printed pages are not those that the attached data gives',
  PAGES_NOT_COMPARED: 'The printed pages could not be compared with the attached data',
  STORED_MISMATCH: 'The artifact differs from the stored proof',
  SPLIT_VIEW: 'The log signed two histories that contradict each other',
  MALFORMED_EVIDENCE: 'The file is not an evidence file',
  EVIDENCE_SHOWS_NOTHING: 'The evidence shows no broken promise',
  // A raw recording that the verifier has.
  RECORDING_UNKNOWN: 'The file is not one that was recorded in the run',
  RECORDING_GREW: 'The file has grown since it was recorded',
  BALANCE_DIFFERS: 'The balance in the log has other counts than the file',
  RECORDING_DIFFERS: 'The events of the proof are not those that the file gives',
  RECORDING_NOT_SHOWN: 'The proof does not show the events to compare with the file',
  // The log is intact, but the result is negative.
  COMPLETENESS_TOO_WEAK: 'That nothing is missing is shown less strongly than you require',
  WITNESS_QUORUM_NOT_MET: 'Fewer witnesses cosigned than the trust requires',
  LAYER_NOT_SATISFIED: 'A layer does not hold',
  LAYER_MISSING: 'A required layer is not part of the proof',
  DECISION_NOT_RUN: 'The run has no risk decisions',
  REPLAY_NOT_RUN: 'The run was never replayed',
  ...recordingCodes,
  // Passed, but every output shows the code.
  NO_POLICY_ACTIVE: 'No policy was active, so the layer holds vacuously',
  NO_DECISION_REPLAYED: 'The run has no decisions to replay, so the layer holds vacuously',
  NO_SECOND_SOURCE: 'No call of the run has a second source, so the layer holds vacuously',
} as const;
export type VerdictCode = keyof typeof verdictCodes;

/** The code of an error of `openTrustedCheckpoint`. */
export function signatureCode(error: GovError): VerdictCode {
  const fault = error instanceof NoteError ? error.fault : null;
  if (fault === 'wrong_origin') return 'ORIGIN_MISMATCH';
  return fault === 'signature_missing' ? 'SIGNATURE_MISSING' : 'SIGNATURE_INVALID';
}

/** Whether the verifier could not read the file, so that the verdict says nothing about the proof. */
export const isUnread = (code: string | null | undefined): boolean =>
  code === 'MALFORMED_BUNDLE' || code === 'TOO_LARGE';

/** Codes of layers that pass because there was nothing to check; every output shows them. */
export const vacuousCodes = {
  NO_POLICY_ACTIVE: 'no policy was active',
  NO_DECISION_REPLAYED: 'no decision was replayed',
  NO_SECOND_SOURCE: 'no call has a second source',
} as const satisfies Partial<Record<VerdictCode, string>>;
export type VacuousCode = keyof typeof vacuousCodes;

export const isVacuous = (code: string | undefined): code is VacuousCode =>
  code !== undefined && Object.hasOwn(vacuousCodes, code);

/** The checks of a bundle, in the order of the verification. */
export const checkIds = [
  'format',
  'commitment',
  'proof_hash',
  'layer_statements',
  'checkpoint_signatures',
  'proof_inclusion',
  'consistency',
  'tree_root',
  'witnesses',
  'completeness',
  'attestation',
  'events',
  'disclosures',
  'approval_signatures',
  'graph',
  'graph_derivation',
  'layers_recomputed',
  'layers_satisfied',
] as const;
/** `recording`: of a raw file that the verifier has; only `gov proofs verify --recording` adds it. */
export type CheckId = (typeof checkIds)[number] | 'recording';

export interface CheckResult<Id extends string = CheckId> {
  readonly id: Id;
  readonly result: 'passed' | 'failed' | 'not_checked';
  readonly code?: VerdictCode;
  readonly detail?: string;
}

export interface LayerVerification {
  readonly name: string;
  readonly passed: boolean;
  /** recomputed: from leaves in the bundle; attested: stated by the signed log only. */
  readonly basis: 'recomputed' | 'attested' | 'not_checked';
  readonly code?: VerdictCode;
  /** What the layer found, where its name does not say it. */
  readonly says?: string;
}

export interface DigestCounts {
  readonly disclosed: number;
  readonly withheld: number;
  /** Erased by leaves of the log in the bundle. */
  readonly erased: number;
  readonly missing: number;
}

/** `not_governed`: no policy was active. `not_checked`: the proof lacks the layer, or the layer could not be checked. */
export type Compliance = 'yes' | 'no' | 'not_governed' | 'not_checked';

/** The first place at which the run broke a policy. */
export interface Violation {
  /** The check of `policy_compliance` that failed. */
  readonly check: string;
  /** The leaf of the event. */
  readonly index: number;
}

export interface Answers {
  readonly authentic: boolean;
  readonly compliant: Compliance;
  readonly violation: Violation | null;
  /** Approvals that let calls of the run through. Absent without one, and where `policy_compliance` was not checked. */
  readonly approvals?: {
    readonly used: number;
    /** Whether no second call used one of them. */ readonly once: boolean;
    /** Used approvals with a signature of an enrolled approver; absent where no approval of the run is signed. */
    readonly signed?: number;
  };
}

export interface ProofVerdict extends Answers, SignatureFacts {
  /** Nothing failed, every required layer passed, and a trusted signature was checked. */
  readonly verified: boolean;
  /** Code of the first failed check; null if verified. */
  readonly code: VerdictCode | null;
  readonly proofId: string | null;
  readonly runId: string | null;
  readonly completeness: Completeness;
  readonly checks: readonly CheckResult[];
  readonly layers: readonly LayerVerification[];
  /** Committed fields of the events in the bundle; null if no event discloses anything. */
  readonly digests: DigestCounts | null;
  /** Sentences that every output shows with the result. */
  readonly notes: readonly string[];
}

/** Collects the results of checks. A check without a result is `not_checked`; a failed check stays failed. */
export class CheckList<Id extends string = CheckId> {
  readonly #results = new Map<Id, CheckResult<Id>>();
  readonly #ids: readonly Id[];

  /** `ids`: the checks in order; default: those of a bundle, which `Id` then is. */
  constructor(ids: readonly Id[] = checkIds as readonly string[] as readonly Id[]) {
    this.#ids = ids;
  }

  pass(id: Id, detail?: string): void {
    if (!this.#results.has(id)) this.#results.set(id, { id, result: 'passed', ...detailOf(detail) });
  }

  fail(id: Id, code: VerdictCode, detail: string): void {
    if (!this.failed(id)) this.#results.set(id, { id, result: 'failed', code, detail });
  }

  skip(id: Id, detail: string): void {
    if (!this.#results.has(id)) this.#results.set(id, { id, result: 'not_checked', detail });
  }

  passed(id: Id): boolean {
    return this.#results.get(id)?.result === 'passed';
  }

  failed(id: Id): boolean {
    return this.#results.get(id)?.result === 'failed';
  }

  /** Returns all checks in order. */
  list(): CheckResult<Id>[] {
    return this.#ids.map((id) => this.#results.get(id) ?? { id, result: 'not_checked' });
  }
}

const detailOf = (detail: string | undefined): { detail?: string } =>
  detail === undefined ? {} : { detail };
