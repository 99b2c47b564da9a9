/**
 * Handlers of Compliance Proofs (contract F1-F6): prove, list, read, verify, bundle. Proven by
 * `test/service/proofs/handlers.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { schemaVersions, type ComplianceProof, type ProofRequest } from '../../contract/proofs.ts';
import { typeId } from '../../core/id.ts';
import { canonicalize, type Json } from '../../core/json/parse.ts';
import { chooseLayers } from '../../core/proofs/layers.ts';
import { inTotoPayload } from '../../core/proofs/binding.ts';
import { idempotencyWrite } from '../call/idempotency.ts';
import { keepAnswer } from '../writes/keep-answer.ts';
import { notFound } from '../call/answer.ts';
import type { Call, Handlers } from '../port/handler.ts';
import { retryAfter } from '../jobs/handlers.ts';
import { byAge, listPage, pageLimit } from '../call/pages.ts';
import { listsOf, proofMeter, prove, provedAnswer } from './prove.ts';
import { append } from '../writes/append.ts';
import { requireRoom } from '../billing/quota.ts';
import { missingRun } from '../completeness/missing-run.ts';
import { refusal } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import { streamedBundle } from './bundle-stream.ts';
import type { StoredProof } from '../../store/port/store.ts';
import type { Tasks } from '../call/work.ts';
import { verifyStored } from './verify-stored.ts';
import type { Table } from '../../contract/table.ts';

export const proofs: Pick<
  Handlers,
  'createProof' | 'listProofs' | 'verifyProof' | 'getProof' | 'getProofBundle'
> = {
  async createProof(call, services) {
    const { body, caller, basePath, idempotency } = call;
    const { projectId } = caller.project;
    const { runId } = body;
    const layers = chooseLayers(body.composed?.layers);
    const schemaVersion = checkedVersion(body.schemaVersion);
    const events = (await services.store.run(projectId, runId))?.events ?? 0;
    if (events === 0) throw await missingRun(services, { projectId, runId });
    if (body.async === true) return enqueue(call, services);
    if (events > limits.syncProofEvents) throw tooLarge(runId, events);
    await requireRoom(services, caller, 'compliance_proof');
    const by = { kind: 'call', caller, idempotency, basePath } as const;
    const proved = await prove(services, { projectId, runId, layers, schemaVersion, by });
    return 'replayed' in proved ? proved : provedAnswer(proved, basePath);
  },

  async listProofs({ query, caller }, services) {
    const { projectId } = caller.project;
    const filter = query.runId === undefined ? {} : { runId: query.runId };
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'proofs', projectId, filters: filter },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: Parameters<typeof services.store.proofs>[2]) =>
        services.store.proofs(projectId, filter, page),
      position: (stored) => byAge(stored.createdMs, stored.proofId),
    });
    return { status: 200, body: { data: rows.map(({ proof }) => readStored(proof)), nextCursor } };
  },

  async verifyProof(call, services) {
    const { body, caller } = call;
    const { projectId } = caller.project;
    const stored = await services.store.proof(projectId, body.proofId);
    const isArtifact = Object.keys(body).length > 1;
    if (isArtifact) requireArtifact(body);
    if (stored === null) {
      throw new GovError('PROOF_NOT_FOUND', 'expected the id of a proof of this project');
    }
    // a parsed body is JSON
    const artifact = isArtifact ? (body as unknown as Json) : null;
    const result = await verifyStored(services, { projectId, stored, artifact });
    return keepAnswer(call, services, { status: 200, body: result });
  },

  async getProof({ params, caller }, { store }) {
    const stored = await store.proof(caller.project.projectId, params.proofId);
    if (stored === null) throw notFound('proof');
    return { status: 200, body: readStored(stored.proof) };
  },

  async getProofBundle({ params, query, caller }, services) {
    const { projectId } = caller.project;
    const stored = await services.store.proof(projectId, params.proofId);
    if (stored === null) throw notFound('proof');
    const made = await makeBundle(services, projectId, { stored, ...query });
    return made instanceof Uint8Array ? { status: 200, raw: made } : streamedBundle(services, made);
  },
};

/** The bundle of a proof, or its plan where it is too large to be in memory. */
export async function makeBundle(
  services: Services,
  projectId: string,
  asked: {
    readonly stored: StoredProof;
    readonly events?: 'none' | 'records' | 'disclosed';
    readonly completeness?: boolean;
    readonly attestation?: boolean;
  },
): Promise<Tasks['bundle']['output']> {
  const { stored } = asked;
  const { proofId } = stored;
  const run = await services.store.run(projectId, stored.runId);
  const size = run?.events ?? 0;
  const events = asked.events ?? (size > limits.syncProofEvents ? 'none' : 'records');
  // S′ may still be unsigned where the process ended right after it stored the proof
  await services.checkpoints.sign(projectId);
  const completeness =
    asked.completeness === false ? null : await completenessOf(services, projectId, { stored, events: size });
  // separate, because other tools check its signature: a verifier of bundles does not know its key
  const attested = asked.attestation === true;
  const dsse = attested ? services.attest(inTotoPayload(readStored(stored.proof))) : null;
  const input = { projectId, proofId, events, completeness, dsse };
  return services.work.run('bundle', input, { events: size });
}

/** The index leaf and the entries for a bundle; null where the log has no index yet, or no room for a leaf. */
async function completenessOf(
  services: Services,
  projectId: string,
  { stored, events }: { stored: StoredProof; events: number },
): Promise<Tasks['bundle']['input']['completeness']> {
  const { checkpoints, witnesses, indexer, log } = services;
  const { size, root } = (await checkpoints.sign(projectId)).checkpoint;
  const { treeSize, statements } = stored;
  const input = {
    projectId,
    mode: 'leaf',
    signed: { size, root },
    treeSize,
    lists: listsOf(statements),
  } as const;
  const indexed = await indexer.index(input, events).catch((error: unknown) => {
    if (!(error instanceof GovError) || error.code !== 'STORAGE_FULL') throw error;
    log.warn({ err: error, projectId }, 'a bundle could not get an index leaf');
    return null;
  });
  if (indexed === null || indexed.leafIndex === null) return null;
  const signed = await checkpoints.sign(projectId);
  await witnesses?.cosigned(projectId, signed);
  return { leafIndex: indexed.leafIndex, entries: indexed.entries };
}

const readStored = (text: string): ComplianceProof => JSON.parse(text) as ComplianceProof;

/** The requested version. VALIDATION_ERROR with `supported` for an unknown one. */
function checkedVersion(version = '1.0'): string {
  if ((schemaVersions as readonly string[]).includes(version)) return version;
  const detail = `expected one of ${schemaVersions.join(', ')}`;
  throw new GovError('VALIDATION_ERROR', `body /schemaVersion: ${detail}`, {
    errors: [{ pointer: '/schemaVersion', in: 'body', code: 'NOT_ALLOWED', detail }],
    extensions: { supported: [...schemaVersions] },
  });
}

const tooLarge = (runId: string, events: number): GovError =>
  new GovError(
    'RUN_TOO_LARGE_FOR_SYNC',
    `expected at most ${limits.syncProofEvents} events in run ${runId}, got ${events}; ask with async: true`,
    { extensions: { events, limit: limits.syncProofEvents } },
  );

/**
 * Accepts an asynchronous proof and counts its unit, once. A crash leaves the job with its unit, or neither.
 */
async function enqueue(
  { body, caller, basePath, idempotency }: Call<Table['createProof']>,
  services: Services,
) {
  const createdMs = services.now();
  const jobId = typeId('job', createdMs, services.randomBytes(10));
  const answer = {
    status: 202,
    body: { jobId },
    headers: { location: `${basePath}/jobs/${jobId}`, ...retryAfter },
  } as const;
  const request = canonicalize(body as ProofRequest as unknown as Json);
  const job = { jobId, type: 'proof', runId: body.runId, request, createdMs } as const;
  const stored = await append(
    services,
    {
      projectId: caller.project.projectId,
      leaves: [],
      effects: [{ kind: 'enqueueJob', job }],
      ...idempotencyWrite(idempotency, answer),
    },
    { meter: proofMeter(services, caller) },
  );
  if ('replayed' in stored) return stored;
  services.wakeJobs();
  return answer;
}

const artifactMembers = ['runId', 'schemaVersion', 'commitment', 'proofHash', 'layers'] as const;

/** VALIDATION_ERROR for an artifact with a missing member; only `createdAt` is optional. */
function requireArtifact(body: Partial<Record<(typeof artifactMembers)[number], unknown>>): void {
  const errors = artifactMembers
    .filter((name) => body[name] === undefined)
    .map((name) => ({
      pointer: `/${name}`,
      in: 'body' as const,
      code: 'MISSING_FIELD' as const,
      detail: `expected a member ${name}, or proofId alone`,
    }));
  if (errors.length > 0) throw refusal({ errors, truncated: false });
}
