/**
 * `POST /proofs/verify` (contract F6, docs/explanation/what-a-proof-says.md): checks an artifact, or a stored proof by its id,
 * against the current log. Recomputes every layer at the recorded tree size, opens checkpoint S with the
 * log's own keys, and looks up the proof's leaf in the tree. Proven by
 * `test/service/proofs/handlers.engines.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { ComplianceProof, LayerName, VerifyResult } from '../../contract/proofs.ts';
import { coverageRules } from '../../core/proofs/coverage.ts';
import { verifyArtifact } from '../../core/proofs/artifact.ts';
import type { Json, JsonObject } from '../../core/json/parse.ts';
import { readStatement, type Statement } from '../../core/proofs/statement.ts';
import type { VerdictCode } from '../../core/proofs/verdict.ts';
import type { StoredProof } from '../../store/port/store.ts';
import { findAnchorFault } from './layers.ts';
import { logged } from '../graphs/log.ts';
import { prunedBelow } from '../events/run-stream.ts';
import type { Services } from '../port/services.ts';
import { rootAt } from '../log/tree-proofs.ts';
import type { Layers, LayersInput, StatedLayer } from '../call/work.ts';

/** `artifact` comes from a client; null verifies the stored proof itself. */
export async function verifyStored(
  services: Services,
  { projectId, stored, artifact }: { projectId: string; stored: StoredProof; artifact: Json | null },
): Promise<VerifyResult> {
  const { proofId } = stored;
  const proof = JSON.parse(stored.proof) as ComplianceProof;
  const events = (await services.store.run(projectId, stored.runId))?.events ?? 0;
  const input = { ...(await recomputation(services, projectId, { stored, proof })), events };
  const again = await recompute(services, input, events);
  if (again === null) return refuted(proof, 'HASH_MISMATCH');
  const statements = Object.fromEntries(
    again.layers
      .filter((layer) => !isOutOfReach(layer, again, stored))
      .map(({ name, statement }) => [name, statement]),
  );
  const kept = { proof, preimage: stored.preimage, statements: stored.statements };
  const verdict = verifyArtifact(artifact ?? (proof as unknown as Json), kept, statements);
  if (again.anchorFault !== null) return refuted(proof, again.anchorFault);
  const layers = verdict.layers.map((layer) => ({ ...layer }));
  const { authentic, compliant } = verdict;
  if (verdict.verified) return { proofId, verified: true, authentic, compliant, layers };
  // an artifact without even the form of a proof is not the stored one
  if (verdict.code === null || verdict.code === 'MALFORMED_BUNDLE') return refuted(proof, 'STORED_MISMATCH');
  return { proofId, verified: false, authentic, compliant, code: verdict.code, layers };
}

/** Whether a layer differs only because its inputs were erased. The log then still vouches for it. */
const isOutOfReach = (
  { name, statement }: StatedLayer,
  { erased }: RecomputedLayers,
  { statements }: StoredProof,
): boolean => erased.includes(name) && statement !== statements[name];

/** A refutation by one reason, without a verdict on any layer. */
const refuted = ({ proofId, layers }: ComplianceProof, code: VerdictCode): VerifyResult => ({
  proofId,
  verified: false,
  authentic: false,
  compliant: 'not_checked',
  code,
  layers: layers.map(({ name }) => ({ name, passed: false, basis: 'not_checked', code })),
});

type RecomputedLayers = Pick<Layers, 'layers' | 'erased' | 'anchorFault'>;

/** Null where a stored leaf differs from the log: that is a result of the check, not an error. */
async function recompute(
  services: Services,
  input: LayersInput,
  events: number,
): Promise<RecomputedLayers | null> {
  try {
    return await services.work.run('layers', input, { events });
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    if (prunedBelow(error) !== null) return await anchored(services, input);
    const altered = typeof error.extensions['index'] === 'number' || error.code === 'RUN_HAS_NO_EVENTS';
    if (!altered) throw error;
    services.log.error(
      { err: error, runId: input.runId },
      'expected every leaf as it was logged, got an altered one; run gov log fsck',
    );
    return null;
  }
}

/**
 * For a run with pruned events: checks only whether the log confirms the proof. Its layers cannot be
 * recomputed.
 */
async function anchored({ store }: Services, input: LayersInput): Promise<RecomputedLayers> {
  const root = await rootAt(store, input.projectId, input.treeSize);
  return { layers: [], erased: [], anchorFault: await findAnchorFault(store, input, root) };
}

async function recomputation(
  { store, verifierKeys }: Services,
  projectId: string,
  { stored, proof }: { stored: StoredProof; proof: ComplianceProof },
): Promise<Omit<LayersInput, 'events'>> {
  const { runId, treeSize, graphIndex, leafIndex, proofId } = stored;
  const graph = graphIndex === null ? null : await store.graphAt(projectId, graphIndex);
  const statements = Object.entries(stored.statements).map(([name, text]): [string, Statement | null] => [
    name,
    readStatement(text),
  ]);
  const nonces = statements.map(([name, statement]) => [name, statement?.nonce ?? ''] as const);
  const sources = statements.find(([name]) => name === 'event_integrity')?.[1]?.claims['timestampSources'];
  const covered = statements.find(([name]) => name === 'x-coverage')?.[1]?.claims;
  const { cosigners, quorum } = statements.find(([name]) => name === 'log_inclusion')?.[1]?.claims ?? {};
  const origin = (await store.project(projectId))?.auditOrigin ?? '';
  return {
    projectId,
    runId,
    // the layers of a stored proof are registered ones
    layers: proof.layers.map(({ name }) => name as LayerName),
    treeSize,
    origin,
    keys: verifierKeys(origin),
    nonces: Object.fromEntries(nonces),
    witnesses: {
      stated: Array.isArray(cosigners) ? cosigners.filter((each) => typeof each === 'string') : [],
      quorum: typeof quorum === 'number' ? quorum : 0,
    },
    graph: graph === null ? null : logged(graph),
    ...(isCounts(sources) ? { statedSources: sources } : {}),
    coverageRules: covered === undefined ? undefined : (coverageRules(covered) ?? undefined),
    proofLeaf: { index: leafIndex, proofId, proofHash: proof.proofHash },
  };
}

const isCounts = (value: Json | undefined): value is JsonObject & Record<string, number> =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((count) => typeof count === 'number');
