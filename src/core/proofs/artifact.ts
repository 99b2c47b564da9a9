/**
 * Steps 2 to 4 and 8 of the verification: checks of a proof by its own members and layer statements.
 * `verifyArtifact` serves `POST /proofs/verify`: it compares an artifact from a client with the stored proof.
 * Attacker controlled; nothing here throws. Proven by `test/core/proofs/artifact.test.ts`.
 */
import type { ComplianceProof } from '../../contract/proofs.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { answersOf } from './answers.ts';
import { readProof } from './read-bundle.ts';
import { canonicalize, canonicalText, type Json } from '../json/parse.ts';
import { layerOrder } from './layers.ts';
import { proofPreimage, proofSchemaVersions } from './binding.ts';
import { readStatement, type Statement, statementHash } from './statement.ts';
import { bundleRests, failedUnder, layerRests, settled } from './rests.ts';
import { rulesText } from './coverage.ts';
import { recordingsText } from './recordings.ts';
import {
  CheckList,
  isRecordingCode,
  isVacuous,
  vacuousCodes,
  type DigestCounts,
  type LayerVerification,
  type ProofVerdict,
  type VerdictCode,
} from './verdict.ts';
import { completenessOf, type IndexDerivation } from './strength.ts';
import { missingNotes, unsigned, type SignatureFacts } from '../note/signed-by.ts';
import { isObject } from '../json/object.ts';

/** A proof as the service stores it. */
export interface KeptProof {
  readonly proof: ComplianceProof;
  readonly preimage: string;
  /** Layer name → statement text. */
  readonly statements: Readonly<Record<string, string>>;
}

/**
 * Verifies an artifact against the proof stored under its id. `artifact`: JSON; `createdAt` may be absent.
 * `recomputed`: statements recomputed from the store at the recorded tree size, with the stored nonces.
 */
export function verifyArtifact(
  artifact: Json,
  kept: KeptProof,
  recomputed: Readonly<Record<string, string>> = {},
): ProofVerdict {
  const checks = new CheckList();
  const proof = readArtifact(artifact, checks);
  if (proof === null) return conclude({ checks, proof, statements: new Map() });
  checkCommitment(proof, checks);
  checkProofHash(proof, proofPreimage(proof).preimage, checks);
  if (canonicalText(proof) !== canonicalText(kept.proof)) {
    checks.fail('proof_hash', 'STORED_MISMATCH', 'expected the proof that is stored under this id');
  }
  const statements = checkStatements(proof, kept.statements, checks);
  const again = new Map<string, boolean>();
  for (const [name, text] of Object.entries(recomputed)) again.set(name, text === kept.statements[name]);
  checkRecomputed(again, checks);
  return conclude({ checks, proof, statements, recomputed: again, kept: true });
}

function readArtifact(artifact: Json, checks: CheckList): ComplianceProof | null {
  try {
    const proof = readProof(withCreatedAt(artifact));
    checks.pass('format');
    return proof;
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    checks.fail('format', 'MALFORMED_BUNDLE', error.message);
    return null;
  }
}

function withCreatedAt(artifact: Json): Json {
  if (!isObject(artifact) || Object.hasOwn(artifact, 'createdAt')) return artifact;
  const { commitment } = artifact;
  return { ...artifact, createdAt: isObject(commitment) ? (commitment['timestamp'] ?? null) : null };
}

/** Step 2: run, version and time agree; the layers are known, unique and in order. */
export function checkCommitment(proof: ComplianceProof, checks: CheckList): void {
  const { runId, schemaVersion, commitment, layers, createdAt } = proof;
  const agree =
    runId === commitment.runId &&
    schemaVersion === commitment.schemaVersion &&
    createdAt === commitment.timestamp;
  if (!agree) {
    checks.fail(
      'commitment',
      'COMMITMENT_MISMATCH',
      'runId, schemaVersion or createdAt differs from the commitment',
    );
  }
  if (!proofSchemaVersions.includes(schemaVersion)) {
    checks.fail(
      'commitment',
      'COMMITMENT_MISMATCH',
      `expected version ${proofSchemaVersions.join(' or ')}, got ${schemaVersion.slice(0, limits.echoChars)}`,
    );
  }
  if (!inLayerOrder(layers.map(({ name }) => name))) {
    checks.fail('commitment', 'LAYERS_INVALID', 'expected known layers, each once, in order');
  }
  checks.pass('commitment');
}

function inLayerOrder(names: readonly string[]): boolean {
  const places = names.map((name) => (layerOrder as readonly string[]).indexOf(name));
  const known = names.length > 0 && names.length <= limits.layers && !places.includes(-1);
  return known && places.every((place, at) => place > (places[at - 1] ?? -1));
}

/** Step 3: the members, and the given preimage, have the hash proofHash. */
export function checkProofHash(proof: ComplianceProof, given: string, checks: CheckList): void {
  const { preimage, hash } = proofPreimage(proof);
  if (hash !== proof.proofHash || preimage !== given) {
    checks.fail('proof_hash', 'HASH_MISMATCH', `expected ${hash} for these members, got ${proof.proofHash}`);
  }
  checks.pass('proof_hash');
}

/**
 * Step 4: each statement has the hash of its layer, names this layer and run, and agrees with the layer; all statements
 * have the same evidence. Returns the valid statements by layer.
 */
export function checkStatements(
  proof: ComplianceProof,
  texts: Readonly<Record<string, string>>,
  checks: CheckList,
): Map<string, Statement> {
  const statements = new Map<string, Statement>();
  let evidence = '';
  for (const { name, hash, verified } of proof.layers) {
    const text = Object.hasOwn(texts, name) ? (texts[name] ?? '') : '';
    if (statementHash(text) !== hash) {
      checks.fail(
        'layer_statements',
        'HASH_MISMATCH',
        `${name}: the hash of the statement differs from the hash of the layer`,
      );
      continue;
    }
    const statement = readStatement(text);
    const fits =
      statement?.layer === name &&
      statement.evidence.runId === proof.runId &&
      (statement.verdict === 'pass') === verified;
    if (statement === null || !fits) {
      checks.fail('layer_statements', 'STATEMENT_INVALID', `${name}: the statement contradicts the layer`);
      continue;
    }
    const own = canonicalize({ ...statement.evidence });
    if (evidence !== '' && own !== evidence) {
      checks.fail(
        'layer_statements',
        'EVIDENCE_MISMATCH',
        `${name}: its evidence differs from the previous layer`,
      );
      continue;
    }
    evidence = own;
    statements.set(name, statement);
  }
  if (Object.keys(texts).length !== proof.layers.length) {
    checks.fail('layer_statements', 'STATEMENT_INVALID', 'expected one statement for each layer');
  }
  checks.pass('layer_statements');
  return statements;
}

/** Step 7: each recomputed layer equals its statement. */
export function checkRecomputed(recomputed: ReadonlyMap<string, boolean>, checks: CheckList): void {
  const different = [...recomputed].filter(([, same]) => !same).map(([name]) => name);
  if (different.length > 0) {
    const detail = `${different.join(', ')}: the recomputed statement differs`;
    checks.fail('layers_recomputed', 'LAYER_MISMATCH', detail);
  } else if (recomputed.size > 0) checks.pass('layers_recomputed', [...recomputed.keys()].join(', '));
}

/** Results of the steps. */
export interface ProofExamination {
  readonly checks: CheckList;
  readonly proof: ComplianceProof | null;
  readonly statements: ReadonlyMap<string, Statement>;
  /** Recomputed layers, and whether each equals its statement. */
  readonly recomputed?: ReadonlyMap<string, boolean>;
  readonly digests?: DigestCounts | null;
  readonly notes?: readonly string[];
  readonly witnesses?: number;
  /** Who signed both checkpoints; absent where nobody did. */
  readonly signed?: SignatureFacts;
  /** Who derived the index. */
  readonly deriving?: IndexDerivation;
  /** Whether the proof comes from the store of the log itself, so that no signature is required. */
  readonly kept?: boolean;
}

/** Step 8: the verdict. */
export function conclude(
  examined: ProofExamination,
  { requireLayers }: { readonly requireLayers?: readonly string[] } = {},
): ProofVerdict {
  const { checks, proof, kept = false } = examined;
  const anchored = kept || anchors.every((id) => checks.passed(id));
  const layers = (proof?.layers ?? []).map((layer) => judgeLayer(layer, examined, anchored));
  if (proof !== null) {
    const names = requireLayers ?? layers.map(({ name }) => name);
    for (const name of names) {
      const layer = layers.find((each) => each.name === name);
      if (layer === undefined)
        checks.fail('layers_satisfied', 'LAYER_MISSING', `${name} is not in the proof`);
      // a layer that was not checked is no finding of its own
      else if (!layer.passed && isWithheld(layer, examined)) continue;
      else if (!layer.passed) checks.fail('layers_satisfied', 'LAYER_NOT_SATISFIED', `${name} does not hold`);
    }
    if (names.length > 0) checks.pass('layers_satisfied');
  }
  const origin = examined.statements.values().next().value?.evidence.origin ?? null;
  const results = settled(checks.list(), bundleRests);
  const failed = results.find(({ result }) => result === 'failed');
  const needed = kept ? own : [...own, ...anchors];
  const verified = failed === undefined && needed.every((id) => checks.passed(id));
  const intact = needed.every((id) => id === 'layers_satisfied' || checks.passed(id));
  return {
    verified,
    ...answersOf({ checks: results, layers }, { anchored: intact, statements: examined.statements }),
    code: failed?.code ?? null,
    proofId: proof?.proofId ?? null,
    runId: proof?.runId ?? null,
    ...(examined.signed ?? unsigned),
    completeness: completenessOf(results, origin, examined.deriving),
    checks: results,
    layers,
    digests: examined.digests ?? null,
    notes: notesOf(examined, layers),
  };
}

const own = ['format', 'commitment', 'proof_hash', 'layer_statements', 'layers_satisfied'] as const;
const anchors = ['checkpoint_signatures', 'proof_inclusion', 'consistency', 'tree_root'] as const;

function judgeLayer(
  { name, verified }: ComplianceProof['layers'][number],
  { checks, statements, recomputed }: ProofExamination,
  anchored: boolean,
): LayerVerification {
  const statement = statements.get(name);
  if (statement === undefined) return { name, passed: false, basis: 'not_checked', code: 'HASH_MISMATCH' };
  if (!anchored) return { name, passed: false, basis: 'not_checked', code: anchorFault(checks) };
  const fault = faultUnder(name, checks);
  if (fault !== null) return { name, passed: false, basis: 'not_checked', code: fault };
  const text =
    name === 'x-recordings'
      ? recordingsText(statement.claims)
      : name === 'x-coverage'
        ? rulesText(statement.claims)
        : null;
  const says = text === null ? {} : { says: text };
  const same = recomputed?.get(name);
  const basis = same === undefined ? 'attested' : 'recomputed';
  if (same === false) return { name, passed: false, basis, code: 'LAYER_MISMATCH' };
  if (verified) {
    const vacuous = statement.claims['vacuous'] === true;
    return { name, passed: true, basis, ...(vacuous ? { code: vacuousCode(statement) } : {}), ...says };
  }
  return { name, passed: false, basis, code: negativeCode(statement), ...says };
}

/** The code of the first failed check that the layer rests on; null where none failed. */
function faultUnder(name: string, checks: CheckList): VerdictCode | null {
  const under = ['proof_hash', 'layer_statements', ...(layerRests[name] ?? [])] as const;
  return failedUnder(under, checks.list(), bundleRests)?.code ?? null;
}

const isWithheld = ({ name, basis }: LayerVerification, { checks }: ProofExamination): boolean =>
  basis === 'not_checked' && faultUnder(name, checks) !== null;

function anchorFault(checks: CheckList): VerdictCode {
  const fault = checks
    .list()
    .find(({ id, result }) => result === 'failed' && anchors.some((each) => each === id));
  return fault?.code ?? 'NO_TRUSTED_KEY';
}

function vacuousCode({ layer }: Statement): VerdictCode {
  if (layer === 'replay_determinism') return 'NO_DECISION_REPLAYED';
  return layer === 'x-coverage' ? 'NO_SECOND_SOURCE' : 'NO_POLICY_ACTIVE';
}

function negativeCode({ layer, verdict, claims }: Statement): VerdictCode {
  const { code } = claims;
  if (layer === 'x-recordings' && isRecordingCode(code)) return code;
  if (verdict === 'not_run' && layer === 'decision_lineage') return 'DECISION_NOT_RUN';
  if (verdict === 'not_run' && layer === 'replay_determinism') return 'REPLAY_NOT_RUN';
  return 'LAYER_NOT_SATISFIED';
}

function notesOf(
  { proof, notes = [], witnesses, signed = unsigned, kept = false }: ProofExamination,
  layers: readonly LayerVerification[],
): string[] {
  return [
    ...layers.flatMap(({ name, code }) =>
      isVacuous(code) ? [`${code}: ${vacuousCodes[code]}; ${name} holds vacuously`] : [],
    ),
    ...(proof !== null && !kept && (witnesses ?? 0) === 0
      ? ['UNWITNESSED: no trusted witness cosigned; the owner of the log key could show another history']
      : []),
    ...missingNotes(signed),
    ...notes,
  ];
}
