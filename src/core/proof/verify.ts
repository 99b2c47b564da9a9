/**
 * The verifier of proof bundles (docs/proofs.md). Service, client and command line call it. It needs no network
 * and no store, imports nothing but core and node:crypto, fails closed, and never throws on what a file holds,
 * all of which may be an attacker's. Trust comes from the caller only.
 *
 * The steps: 1 strict parse; 2 the members of the proof agree; 3 proofHash; 4 layer statements; 5 checkpoints,
 * inclusion, consistency, tree root; 6 witnesses; 7 enclosed events and graph, and every layer that can be
 * computed again (`recompute.ts`); 8 the result. Proven by `test/core/proof/verify.test.ts`,
 * `test/core/proof/tamper.test.ts` (every byte of a bundle is flipped, and none of them verifies) and `test/core/proof/hostile.test.ts`.
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
import { openErasures } from './erasures.ts';
import { recompute } from './recompute.ts';
import { strictObject } from '../event/run-entry.ts';
import type { Evidence } from './statement.ts';
import { CheckList, type ProofVerdict } from './verdict.ts';

export interface VerifyOptions {
  /** Layers that must be part of the proof and hold; all layers of the proof where not given. */
  readonly requireLayers?: readonly string[];
}

/**
 * Verifies the bundle in these bytes under the caller's trust; without trust nothing is verified, but every
 * hash is still checked. Cost: about 25 µs for an event with its path, linear in the bytes.
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
  checkAttestation(bundle, checks);
  const erased = openErasures(bundle, { trust, proved: log.second }, checks);
  const root = log.first?.root ?? null;
  const recomputed = recompute(bundle, { statements, evidence, root, erased }, checks);
  const examined: Examined = { checks, proof, statements, ...recomputed, witnesses: log.witnesses };
  return conclude(examined, options);
}

/** Step 1. */
function parse(bytes: Uint8Array, checks: CheckList): Bundle | null {
  try {
    const bundle = readBundle(bytes);
    checks.pass('format');
    return bundle;
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    checks.fail('format', 'MALFORMED_BUNDLE', error.message);
    return null;
  }
}

/** The two checkpoints; where a signature is at fault, what they say is still read, to find further faults. */
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

/** Step 5: the proof's own leaf says what the proof says, and stands in S′ behind S. */
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
    checks.fail('proof_inclusion', 'NOT_INCLUDED', `leaf ${index} is not shown to be in the later tree`);
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
  else checks.fail('consistency', 'NOT_CONSISTENT', 'the later tree is not shown to extend the earlier one');
}

/** Step 5: the evidence speaks of the tree of S. */
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

/** Step 6: as many distinct witnesses as the trust asks for cosigned S′. */
function checkWitnesses({ witnesses }: LogView, trust: Trust | null, checks: CheckList): void {
  const quorum = trust?.quorum ?? 0;
  if (witnesses < quorum) {
    const detail = `expected ${quorum} witnesses, got ${witnesses}`;
    checks.fail('witnesses', 'WITNESS_QUORUM_NOT_MET', detail);
  } else if (witnesses === 0) checks.skip('witnesses', 'the trust asks for none');
  else checks.pass('witnesses', `${witnesses} cosigned`);
}

/** An enclosed DSSE envelope must be about this proof. Its signature is for others to check, by their keys. */
function checkAttestation({ dsse, proof }: Bundle, checks: CheckList): void {
  if (dsse === undefined) return;
  const expected = inTotoPayload(proof).toString('base64');
  if (dsse.payloadType === inTotoPayloadType && dsse.payload === expected) {
    checks.skip('attestation', 'the statement is about this proof; its signature was not checked');
  } else {
    checks.fail('attestation', 'SUBJECT_MISMATCH', 'expected the in-toto statement of this proof');
  }
}
