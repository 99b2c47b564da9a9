/**
 * The verifier of proof bundles (`docs/reference/proof-format.md`), used by the service, the client and the command line.
 * It needs no network and no store, imports only core and node:crypto, and fails closed. The bundle is attacker
 * controlled, and no content of it makes the verifier throw. Trust comes from the caller only.
 *
 * The steps: 1 strict parse; 2 the members of the proof agree; 3 proofHash; 4 layer statements; 5 checkpoints,
 * inclusion, consistency, tree root; 6 witnesses, and whether anything is missing (`completeness.ts`); 7 events and graph of the bundle, and every layer that can be
 * recomputed (`recompute.ts`); 8 the verdict. Proven by `test/core/proof/verify.test.ts`,
 * `test/core/proof/tamper.test.ts` (every byte of a bundle is flipped, and none verifies) and
 * `test/core/proof/hostile.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { checkCommitment, checkProofHash, checkStatements, conclude, type Examined } from './artifact.ts';
import { type Bundle, pathHashes } from './bundle.ts';
import { readBundle } from './read-bundle.ts';
import { type Checkpoint, openTrustedCheckpoint, parseCheckpoint, type Trust } from '../note/checkpoint.ts';
import { inTotoPayloadType } from '../note/dsse.ts';
import { hashText } from '../hash.ts';
import { leafHash, verifyConsistency, verifyInclusion } from '../merkle/tree.ts';
import { NoteError, splitNote } from '../note/signed.ts';
import { inTotoPayload } from './binding.ts';
import { checkCompleteness } from './completeness.ts';
import { openErasures } from './erasures.ts';
import { recompute } from './recompute.ts';
import { strictObject } from '../event/run-entry.ts';
import type { Evidence } from './statement.ts';
import { CheckList, type ProofVerdict } from './verdict.ts';

export interface VerifyOptions {
  /** Layers that the proof must have and that must pass; default: all layers of the proof. */
  readonly requireLayers?: readonly string[];
}

/**
 * Verifies the bundle in these bytes with the trust of the caller. Without trust nothing is verified, but every hash
 * is still checked. Cost: about 25 µs an event with its inclusion proof, linear in the bytes.
 */
export function verifyBundle(
  bytes: Uint8Array,
  trust: Trust | null,
  options: VerifyOptions = {},
): ProofVerdict {
  const checks = new CheckList();
  const bundle = parse(bytes, checks);
  if (bundle === null) return conclude({ checks, proof: null, statements: new Map() }, options);
  const { proof, proofPreimage, layerStatements } = bundle;
  checkCommitment(proof, checks);
  checkProofHash(proof, proofPreimage, checks);
  const statements = checkStatements(proof, layerStatements, checks);
  const evidence = statements.values().next().value?.evidence ?? null;
  const log = openLog(bundle, trust, checks);
  checkProofLeaf(bundle, log, checks);
  checkConsistency(bundle, log, checks);
  checkTreeRoot(evidence, log, checks);
  checkWitnesses(log, trust, checks);
  const complete = checkCompleteness(bundle, { statements, evidence, proved: log.second }, checks);
  checkAttestation(bundle, checks);
  const erased = openErasures(bundle, { trust, proved: log.second }, checks);
  const root = log.first?.root ?? null;
  const recomputed = recompute(bundle, { statements, evidence, root, erased }, checks);
  const notes = [...complete, ...recomputed.notes];
  const examined: Examined = { checks, proof, statements, ...recomputed, notes, witnesses: log.witnesses };
  return conclude(examined, options);
}

/** Step 1: parses the bundle. */
function parse(bytes: Uint8Array, checks: CheckList): Bundle | null {
  try {
    const bundle = readBundle(bytes);
    checks.pass('format');
    return bundle;
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    const code = error.code === 'PAYLOAD_TOO_LARGE' ? 'TOO_LARGE' : 'MALFORMED_BUNDLE';
    checks.fail('format', code, error.message);
    return null;
  }
}

/** Both checkpoints. One with an invalid signature is still read, to find further errors. */
interface LogView {
  /** Checkpoint S. */
  readonly first: Checkpoint | null;
  /** Checkpoint S′. */
  readonly second: Checkpoint | null;
  /** Distinct trusted witnesses of S′. */
  readonly witnesses: number;
}

/** Step 5: both checkpoints are signed by a trusted key, for the trusted origin. */
function openLog({ checkpoint, proofCheckpoint }: Bundle, trust: Trust | null, checks: CheckList): LogView {
  const first = openNote(checkpoint, trust, checks);
  const second = openNote(proofCheckpoint, trust, checks);
  checks.pass('checkpoint_signatures');
  return { first: first.checkpoint, second: second.checkpoint, witnesses: second.witnesses };
}

function openNote(
  note: string,
  trust: Trust | null,
  checks: CheckList,
): { readonly checkpoint: Checkpoint | null; readonly witnesses: number } {
  if (trust === null || trust.keys.length === 0) {
    checks.fail('checkpoint_signatures', 'NO_TRUSTED_KEY', 'expected a key or a trust file, got none');
    return { checkpoint: readUnverified(note), witnesses: 0 };
  }
  try {
    const { checkpoint, witnessedBy } = openTrustedCheckpoint(note, trust);
    return { checkpoint, witnesses: witnessedBy.length };
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    const foreign = error instanceof NoteError && error.fault === 'wrong_origin';
    checks.fail('checkpoint_signatures', foreign ? 'ORIGIN_MISMATCH' : 'SIGNATURE_INVALID', error.message);
    return { checkpoint: readUnverified(note), witnesses: 0 };
  }
}

function readUnverified(note: string): Checkpoint | null {
  try {
    return parseCheckpoint(splitNote(note).text);
  } catch (error) {
    if (error instanceof GovError) return null;
    throw error;
  }
}

/** Step 5: the leaf of the proof has the members of the proof, and is in S′ at or after the end of S. */
function checkProofLeaf({ proof, proofLeaf }: Bundle, { first, second }: LogView, checks: CheckList): void {
  const { index, record, inclusion } = proofLeaf;
  const fields = strictObject(record);
  const isOurs =
    fields !== null &&
    fields['type'] === 'gov.proof/1' &&
    fields['proofId'] === proof.proofId &&
    fields['runId'] === proof.runId &&
    fields['proofHash'] === proof.proofHash;
  if (!isOurs) {
    checks.fail('proof_inclusion', 'HASH_MISMATCH', 'expected a leaf with this proofId, runId and proofHash');
    return;
  }
  const included =
    second !== null &&
    verifyInclusion({
      index,
      size: second.size,
      leaf: leafHash(record),
      path: pathHashes(inclusion),
      root: second.root,
    });
  if (first === null || index < first.size || !included) {
    checks.fail(
      'proof_inclusion',
      'NOT_INCLUDED',
      `leaf ${index} has no valid inclusion proof in the later tree`,
    );
    return;
  }
  checks.pass('proof_inclusion', `leaf ${index} of ${second.size}`);
}

/** Step 5: S′ extends S. */
function checkConsistency({ consistency }: Bundle, { first, second }: LogView, checks: CheckList): void {
  const consistent =
    first !== null &&
    second !== null &&
    verifyConsistency({
      first: first.size,
      second: second.size,
      firstRoot: first.root,
      secondRoot: second.root,
      path: pathHashes(consistency),
    });
  if (consistent) checks.pass('consistency', `${first.size} to ${second.size} leaves`);
  else
    checks.fail(
      'consistency',
      'NOT_CONSISTENT',
      'the consistency proof from the earlier to the later tree is invalid',
    );
}

/** Step 5: the evidence names the tree of S. */
function checkTreeRoot(evidence: Evidence | null, { first }: LogView, checks: CheckList): void {
  const same =
    evidence !== null &&
    first !== null &&
    evidence.origin === first.origin &&
    evidence.treeSize === first.size &&
    evidence.treeRoot === hashText(first.root);
  if (same) checks.pass('tree_root');
  else checks.fail('tree_root', 'ROOT_MISMATCH', 'the evidence has another origin, size or root than S');
}

/** Step 6: as many distinct witnesses cosigned S′ as the trust requires. */
function checkWitnesses({ witnesses }: LogView, trust: Trust | null, checks: CheckList): void {
  const quorum = trust?.quorum ?? 0;
  if (witnesses < quorum) {
    const detail = `expected ${quorum} witnesses, got ${witnesses}`;
    checks.fail('witnesses', 'WITNESS_QUORUM_NOT_MET', detail);
  } else if (witnesses === 0) checks.skip('witnesses', 'the trust requires no witness');
  else checks.pass('witnesses', `${witnesses} cosigned`);
}

/** A DSSE envelope must be about this proof. The verifier does not check its signature: it has no key for it. */
function checkAttestation({ dsse, proof }: Bundle, checks: CheckList): void {
  if (dsse === undefined) return;
  const expected = inTotoPayload(proof).toString('base64');
  if (dsse.payloadType === inTotoPayloadType && dsse.payload === expected) {
    checks.skip('attestation', 'the statement is about this proof; its signature is not checked');
  } else {
    checks.fail('attestation', 'SUBJECT_MISMATCH', 'expected the in-toto statement of this proof');
  }
}
