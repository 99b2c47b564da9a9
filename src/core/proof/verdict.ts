/**
 * What a verification found. A verdict is a value: whatever an attacker put into a file, the answer is one of
 * these. An honest negative (the log says that a layer did not hold) has other codes than tampering.
 */

/** Every code that a verdict can carry, and what it says. */
export const verdictCodes = {
  // The file, or what the caller gave, cannot be judged.
  MALFORMED_BUNDLE: 'The file is not a proof bundle',
  NO_TRUSTED_KEY: 'No trusted key was given, so no signature could be checked',
  // Tampering, or parts that do not belong together.
  COMMITMENT_MISMATCH: 'Members of the proof contradict each other',
  LAYERS_INVALID: 'The list of layers is empty, unordered, or names an unknown layer',
  HASH_MISMATCH: 'A hash does not match the text it should be the hash of',
  STATEMENT_INVALID: 'A layer statement is malformed, or says another thing than the layer',
  EVIDENCE_MISMATCH: 'Layer statements speak of different runs, times or logs',
  SIGNATURE_INVALID: 'A checkpoint is not signed by a trusted key',
  ORIGIN_MISMATCH: 'A checkpoint is of another log',
  NOT_INCLUDED: 'A leaf is not in the tree',
  NOT_CONSISTENT: 'The later checkpoint does not extend the earlier one',
  ROOT_MISMATCH: 'The layers speak of another tree than the checkpoint',
  EVENTS_MISMATCH: 'The enclosed events are not those of the run',
  DISCLOSURE_MISMATCH: 'A disclosed value is not what the event committed to',
  DISCLOSURE_MISSING: 'A committed value is neither disclosed nor said to be withheld, nor erased by the log',
  GRAPH_MISMATCH: 'The enclosed graph is not the one that was logged',
  LAYER_MISMATCH: 'A layer comes out differently when it is computed again',
  SUBJECT_MISMATCH: 'The enclosed attestation is about another artifact',
  MALFORMED_EXPORT: 'The file is not the artifact of an export as it is written',
  EXPORT_WITHOUT_PROOF: 'The export was made without proof, so nothing in it can be checked',
  EXPORT_MISMATCH: 'The artifact is not of the export that the log says was asked for',
  ROW_MISMATCH: 'A row is not what its leaf says',
  MANIFEST_MISMATCH: 'The manifest is not of these rows',
  STORED_MISMATCH: 'The artifact differs from the proof that was stored',
  // The word of the log, checked and answered no.
  WITNESS_QUORUM_NOT_MET: 'Fewer witnesses cosigned than the trust asks for',
  LAYER_NOT_SATISFIED: 'A layer does not hold',
  LAYER_MISSING: 'A required layer is not part of the proof',
  DECISION_NOT_RUN: 'The run has no risk decisions',
  REPLAY_NOT_RUN: 'The run was never replayed',
  // Passed, but worth saying.
  NO_POLICY_ACTIVE: 'No policy was active, so the layer holds vacuously',
  NO_DECISION_REPLAYED: 'The run has no decisions to replay, so the layer holds vacuously',
} as const;
export type VerdictCode = keyof typeof verdictCodes;

/** Codes of layers that hold because there was nothing to hold: every output says so, loudly. */
export const vacuousCodes = {
  NO_POLICY_ACTIVE: 'no policy was active',
  NO_DECISION_REPLAYED: 'no decision was replayed',
} as const satisfies Partial<Record<VerdictCode, string>>;
export type VacuousCode = keyof typeof vacuousCodes;

export const isVacuous = (code: string | undefined): code is VacuousCode =>
  code !== undefined && Object.hasOwn(vacuousCodes, code);

/** The checks of a verification, in the order in which they are made. */
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
  'attestation',
  'events',
  'disclosures',
  'graph',
  'graph_derivation',
  'layers_recomputed',
  'layers_satisfied',
] as const;
export type CheckId = (typeof checkIds)[number];

export interface CheckResult<Id extends string = CheckId> {
  readonly id: Id;
  readonly result: 'passed' | 'failed' | 'not_checked';
  readonly code?: VerdictCode;
  readonly detail?: string;
}

export interface LayerVerification {
  readonly name: string;
  readonly passed: boolean;
  /** recomputed: derived again from enclosed leaves; attested: the word of the signed log. */
  readonly basis: 'recomputed' | 'attested' | 'not_checked';
  readonly code?: VerdictCode;
}

export interface DigestCounts {
  readonly disclosed: number;
  readonly withheld: number;
  /** By leaves of the log that the bundle encloses. */
  readonly erased: number;
  readonly missing: number;
}

export interface ProofVerdict {
  /** Nothing failed, every required layer passed, and a trusted signature was checked. */
  readonly verified: boolean;
  /** Why not: of the first check that failed. Null where verified. */
  readonly code: VerdictCode | null;
  readonly proofId: string | null;
  readonly runId: string | null;
  readonly checks: readonly CheckResult[];
  readonly layers: readonly LayerVerification[];
  /** Of the enclosed events' committed fields; null where no event discloses anything. */
  readonly digests: DigestCounts | null;
  /** Sentences that every output shows beside the answer. */
  readonly notes: readonly string[];
}

/** Collects the results of checks; what was never set was not checked, a failed check stays failed. */
export class CheckList<Id extends string = CheckId> {
  private readonly results = new Map<Id, CheckResult<Id>>();
  private readonly ids: readonly Id[];

  /** `ids`: the checks that are made, in their order; those of a bundle where not given, which `Id` then is. */
  constructor(ids: readonly Id[] = checkIds as readonly string[] as readonly Id[]) {
    this.ids = ids;
  }

  pass(id: Id, detail?: string): void {
    if (!this.results.has(id)) this.results.set(id, { id, result: 'passed', ...detailOf(detail) });
  }

  fail(id: Id, code: VerdictCode, detail: string): void {
    if (!this.failed(id)) this.results.set(id, { id, result: 'failed', code, detail });
  }

  skip(id: Id, detail: string): void {
    if (!this.results.has(id)) this.results.set(id, { id, result: 'not_checked', detail });
  }

  passed(id: Id): boolean {
    return this.results.get(id)?.result === 'passed';
  }

  failed(id: Id): boolean {
    return this.results.get(id)?.result === 'failed';
  }

  /** All checks in order. */
  list(): CheckResult<Id>[] {
    return this.ids.map((id) => this.results.get(id) ?? { id, result: 'not_checked' });
  }
}

const detailOf = (detail: string | undefined): { detail?: string } =>
  detail === undefined ? {} : { detail };
