/**
 * The compliance proof: the layers of a run, bound into one hash in a leaf of the log.
 *
 *   bound     = { proofId, runId, schemaVersion, commitment: { runId, schemaVersion, timestamp }, layers }
 *   proofHash = SHA-256("gov.proof/v1\n" || JCS(bound))
 *   leaf      = JCS({ type: "gov.proof/1", proofId, runId, proofHash, _sd: [], _sd_alg })
 *
 * `createdAt` equals `commitment.timestamp`, so the hash binds every member of a proof. The signed checkpoint that covers
 * the leaf is the signature of the proof. Proven by `test/core/proofs/artifact.test.ts` (known answers).
 */
import type { ComplianceProof } from '../../contract/proofs.ts';
import { inTotoStatement } from '../note/dsse.ts';
import { labelled } from '../hash.ts';
import { canonicalize, type Json, type JsonObject } from '../json/parse.ts';
import { statementHash } from './statement.ts';

/** `1.0` and its alias, echoed as sent; equal to the list of the contract. */
export const proofSchemaVersions: readonly string[] = ['1.0', 'v1'];

export interface ProofParts {
  readonly proofId: string;
  readonly runId: string;
  readonly schemaVersion: string;
  /** When tree size S was fixed, `YYYY-MM-DDTHH:mm:ss.sssZ`. */
  readonly timestamp: string;
  /** In response order; `statement`: its text; `verified`: whether its verdict is `pass`. */
  readonly layers: readonly {
    readonly name: string;
    readonly statement: string;
    readonly verified: boolean;
  }[];
}

/** Returns the proof and the preimage of `proofHash`. */
export function composeProof(parts: ProofParts): { proof: ComplianceProof; preimage: string } {
  const { proofId, runId, schemaVersion, timestamp } = parts;
  const layers = parts.layers.map(({ name, statement, verified }) => ({
    name,
    hash: statementHash(statement),
    verified,
  }));
  const unhashed = {
    proofId,
    runId,
    schemaVersion,
    commitment: { runId, schemaVersion, timestamp },
    layers,
    createdAt: timestamp,
  };
  const { preimage, hash } = proofPreimage(unhashed);
  return { proof: { ...unhashed, proofHash: hash }, preimage };
}

/** Returns preimage and hash of the members of a proof, without `proofHash`. */
export function proofPreimage(proof: Omit<ComplianceProof, 'proofHash'>): { preimage: string; hash: string } {
  const { proofId, runId, schemaVersion, commitment, layers } = proof;
  return labelled('gov.proof/v1', {
    proofId,
    runId,
    schemaVersion,
    commitment: {
      runId: commitment.runId,
      schemaVersion: commitment.schemaVersion,
      timestamp: commitment.timestamp,
    },
    layers: layers.map(({ name, hash, verified }) => ({ name, hash, verified })),
  });
}

/** The clear members of the `gov.proof/1` leaf, besides type and run. */
export const proofLeafFields = ({ proofId, proofHash }: ComplianceProof): JsonObject => ({
  proofId,
  proofHash,
});

/** The predicate type of in-toto statements about a proof. */
const proofPredicateType = 'urn:gov:compliance-proof:1';

/** Returns an in-toto Statement v1 about the proof, as DSSE payload bytes. Its subject is proofHash. */
export function inTotoPayload(proof: ComplianceProof): Buffer {
  const subject = { name: proof.proofId, sha256: proof.proofHash.slice('sha256:'.length) };
  const statement = inTotoStatement(subject, proofPredicateType, { proof });
  return Buffer.from(canonicalize(statement as unknown as Json), 'utf8');
}
