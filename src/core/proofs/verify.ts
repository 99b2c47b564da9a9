/**
 * The verifier of proof bundles (`docs/reference/proof-format.md`), used by the service, the client and the command line.
 * It needs no network and no store, imports only core and node:crypto, and fails closed. The bundle is attacker
 * controlled, and no content of it makes the verifier throw. Trust comes from the caller only.
 *
 * The steps: 1 strict parse; 2 the members of the proof agree; 3 proofHash; 4 layer statements; 5 checkpoints,
 * inclusion, consistency, tree root; 6 witnesses, and whether anything is missing (`completeness.ts`); 7 events and graph of the bundle, and every layer that can be
 * recomputed (`recompute.ts`); 8 the verdict. Proven by `test/core/proofs/verify.test.ts`,
 * `test/core/proofs/tamper.test.ts` (every byte of a bundle is flipped, and none verifies) and
 * `test/core/proofs/hostile.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import {
  checkCommitment,
  checkProofHash,
  checkStatements,
  conclude,
  type ProofExamination,
} from './artifact.ts';
import { type BundleEvent, type BundleFrame, pathHashes } from './bundle.ts';
import { EventReader, FrameReader } from './read-bundle.ts';
import {
  type Checkpoint,
  openTrustedCheckpoint,
  unverifiedHeadOrNull,
  type Trust,
  type TrustedCheckpoint,
} from '../note/checkpoint.ts';
import { signedBy, signedByText, unsigned, type SignatureFacts } from '../note/signed-by.ts';
import { inTotoPayloadType } from '../note/dsse.ts';
import { hashText } from '../hash.ts';
import { leafHash, verifyConsistency, verifyInclusion } from '../merkle/tree.ts';
import { SignedHead } from '../note/heads.ts';
import { inTotoPayload } from './binding.ts';
import { checkApprovals } from './approvals.ts';
import { checkCompleteness } from './completeness.ts';
import { openErasures } from './erasures.ts';
import { Recomputation } from './recompute.ts';
import { strictObject } from '../events/run-entry.ts';
import type { Evidence, Statement } from './statement.ts';
import { type DerivedLog, type IndexDerivation } from './strength.ts';
import { CheckList, signatureCode, type ProofVerdict } from './verdict.ts';

export interface VerifyOptions {
  /** Layers that the proof must have and that must pass; default: all layers of the proof. */
  readonly requireLayers?: readonly string[];
  /** The index of the log, derived from its records by the caller. */
  readonly derived?: DerivedLog;
  /** Gets the signed heads of a bundle, each with the paths that lead to its root, where a trusted key signed both. */
  readonly seen?: (heads: readonly SignedHead[]) => void;
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
  const verification = new Verification(trust, options);
  if (verification.readFrame(bytes) && verification.endFrame()) verification.readEvents(bytes);
  return verification.verdict();
}

/**
 * Verifies a bundle of any size: `read` returns its bytes, and is called twice. Where the file changes in between, the
 * events of one file are judged by the frame of the other: both are attacker controlled anyway, and what is verified was
 * read. Memory: that of `FrameReader` and `Recomputation`. Rejects only where `read` does.
 */
export async function verifyBundleFile(
  read: () => AsyncIterable<Uint8Array>,
  trust: Trust | null,
  options: VerifyOptions = {},
): Promise<ProofVerdict> {
  const verification = new Verification(trust, options);
  for await (const chunk of read()) if (!verification.readFrame(chunk)) break;
  if (verification.endFrame()) {
    for await (const chunk of read()) if (!verification.readEvents(chunk)) break;
  }
  return verification.verdict();
}

/** One verification: the frame, then the events, then the verdict. */
class Verification {
  readonly #trust: Trust | null;
  readonly #options: VerifyOptions;
  readonly #frame = new FrameReader();
  /** Null until the frame was read. */
  #examination: Examination | null = null;
  #events: EventReader | null = null;
  /** Why the bundle cannot be read. */
  #fault: GovError | null = null;

  constructor(trust: Trust | null, options: VerifyOptions) {
    this.#trust = trust;
    this.#options = options;
  }

  /** Takes the next bytes of the file; false where the rest cannot be read. */
  readFrame(chunk: Uint8Array): boolean {
    return this.#reads(() => this.#frame.push(chunk));
  }

  /** Call it once at the end of the file. False where the frame could not be read. */
  endFrame(): boolean {
    return (
      this.#fault === null &&
      this.#reads(() => {
        const examination = new Examination(this.#frame.end(), this.#trust, this.#options.derived ?? null);
        this.#examination = examination;
        this.#events = new EventReader((event) => examination.add(event));
      })
    );
  }

  /** Takes the next bytes of the file from its beginning again; false where the rest cannot be read. */
  readEvents(chunk: Uint8Array): boolean {
    return this.#reads(() => this.#events?.push(chunk));
  }

  verdict(): ProofVerdict {
    this.#reads(() => this.#events?.end());
    const fault = this.#fault;
    if (fault === null && this.#examination !== null) return this.#examination.conclude(this.#options);
    const checks = new CheckList();
    const code = fault?.code === 'PAYLOAD_TOO_LARGE' ? 'TOO_LARGE' : 'MALFORMED_BUNDLE';
    checks.fail('format', code, fault?.message ?? 'expected a bundle, got nothing');
    return conclude({ checks, proof: null, statements: new Map() }, this.#options);
  }

  #reads(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      if (!(error instanceof GovError)) throw error;
      this.#fault ??= error;
      return false;
    }
  }
}

/** Steps 2 to 6 of a frame, and what step 7 needs while events come. */
class Examination {
  readonly #checks = new CheckList();
  readonly #frame: BundleFrame;
  readonly #statements: ReadonlyMap<string, Statement>;
  readonly #log: LogView;
  readonly #notes: readonly string[];
  readonly #deriving: IndexDerivation;
  /** The first event with an inclusion path. */
  #included: BundleEvent | null = null;
  /** Null where the tree of S is unknown. */
  readonly #recomputation: Recomputation | null;

  constructor(frame: BundleFrame, trust: Trust | null, derived: DerivedLog | null) {
    const checks = this.#checks;
    const { proof, proofPreimage, layerStatements } = frame;
    checks.pass('format');
    checkCommitment(proof, checks);
    checkProofHash(proof, proofPreimage, checks);
    const statements = checkStatements(proof, layerStatements, checks);
    const evidence = statements.values().next().value?.evidence ?? null;
    const log = openLog(frame, trust, checks);
    checkProofLeaf(frame, log, checks);
    checkConsistency(frame, log, checks);
    checkTreeRoot(evidence, log, checks);
    checkWitnesses(log, trust, checks);
    const shown = checkCompleteness(frame, { statements, evidence, proved: log.second, derived }, checks);
    this.#notes = shown.notes;
    this.#deriving = { cosigners: log.index, records: shown.records };
    checkAttestation(frame, checks);
    checkApprovals(frame, { statements, evidence, root: log.first?.root ?? null }, checks);
    const erased = openErasures(frame, { trust, proved: log.second }, checks);
    const root = log.first?.root ?? null;
    this.#frame = frame;
    this.#statements = statements;
    this.#log = log;
    this.#recomputation =
      evidence === null || root === null
        ? null
        : new Recomputation(frame, { statements, evidence, root, erased }, checks);
  }

  add(event: BundleEvent): void {
    if (event.inclusion !== undefined) this.#included ??= event;
    this.#recomputation?.add(event);
  }

  conclude(options: VerifyOptions): ProofVerdict {
    if (options.seen !== undefined) options.seen(this.#heads());
    const recomputed = this.#recomputation?.finish();
    const examined: ProofExamination = {
      checks: this.#checks,
      proof: this.#frame.proof,
      statements: this.#statements,
      ...recomputed,
      notes: [...this.#notes, ...(recomputed?.notes ?? [])],
      witnesses: this.#log.witnesses,
      signed: this.#log.signed,
      deriving: this.#deriving,
    };
    return conclude(examined, options);
  }

  /** The heads of S and S′ with the paths that lead to them; none unless a trusted key signed both. */
  #heads(): readonly SignedHead[] {
    const { first, second, isSigned } = this.#log;
    const { checkpoint, proofCheckpoint, proofLeaf, completeness, graph, approvals = [] } = this.#frame;
    if (first === null || second === null || !isSigned) return [];
    const heads = [new SignedHead(checkpoint, first), new SignedHead(proofCheckpoint, second)] as const;
    const add = (head: SignedHead, leaf: BundleEvent | undefined): void => {
      if (leaf?.inclusion === undefined) return;
      head.add({ index: leaf.index, leaf: leafHash(leaf.record), path: pathHashes(leaf.inclusion) });
    };
    for (const leaf of [proofLeaf, completeness?.index]) add(heads[1], leaf);
    for (const leaf of [this.#included ?? undefined, graph?.leaf, ...approvals]) add(heads[0], leaf);
    return heads;
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
  /** The index witnesses that cosigned S′. */
  readonly index: IndexDerivation['cosigners'];
  /** Whether a trusted key signed each; after a rotation no key signed both. */
  readonly isSigned: boolean;
  /** Who signed both. */
  readonly signed: SignatureFacts;
}

/** Step 5: both checkpoints are signed by a trusted key, for the trusted origin. */
function openLog(
  { checkpoint, proofCheckpoint }: BundleFrame,
  trust: Trust | null,
  checks: CheckList,
): LogView {
  const first = openNote(checkpoint, trust, checks);
  const second = openNote(proofCheckpoint, trust, checks);
  const signed =
    first.opened === null || second.opened === null ? unsigned : signedBy([first.opened, second.opened]);
  checks.pass('checkpoint_signatures', `by ${signedByText(signed)}`);
  return {
    first: first.checkpoint,
    second: second.checkpoint,
    witnesses: second.opened?.witnessedBy.length ?? 0,
    index: second.opened?.index ?? null,
    isSigned: first.opened !== null && second.opened !== null,
    signed,
  };
}

interface OpenedNote {
  readonly checkpoint: Checkpoint | null;
  /** Null unless a trusted key signed it. */
  readonly opened: TrustedCheckpoint | null;
}

function openNote(note: string, trust: Trust | null, checks: CheckList): OpenedNote {
  if (trust === null || trust.keys.length === 0) {
    checks.fail('checkpoint_signatures', 'NO_TRUSTED_KEY', 'expected a key or a trust file, got none');
    return { checkpoint: unverifiedHeadOrNull(note), opened: null };
  }
  try {
    const opened = openTrustedCheckpoint(note, trust);
    return { checkpoint: opened.checkpoint, opened };
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    checks.fail('checkpoint_signatures', signatureCode(error), error.message);
    return { checkpoint: unverifiedHeadOrNull(note), opened: null };
  }
}

/** Step 5: the leaf of the proof has the members of the proof, and is in S′ at or after the end of S. */
function checkProofLeaf(
  { proof, proofLeaf }: BundleFrame,
  { first, second }: LogView,
  checks: CheckList,
): void {
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
function checkConsistency({ consistency }: BundleFrame, { first, second }: LogView, checks: CheckList): void {
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
function checkAttestation({ dsse, proof }: BundleFrame, checks: CheckList): void {
  if (dsse === undefined) return;
  const expected = inTotoPayload(proof).toString('base64');
  if (dsse.payloadType === inTotoPayloadType && dsse.payload === expected) {
    checks.skip('attestation', 'the statement is about this proof; its signature is not checked');
  } else {
    checks.fail('attestation', 'SUBJECT_MISMATCH', 'expected the in-toto statement of this proof');
  }
}
