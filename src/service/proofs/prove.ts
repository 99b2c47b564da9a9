/**
 * Makes a compliance proof (docs/explanation/what-a-proof-says.md). The order makes it sound: log the run's graph, sign checkpoint
 * S, compute the layers at S, append the `gov.proof/1` leaf at an index ≥ S, sign checkpoint S′ that covers
 * it. No statement refers to its own leaf. Of a run that is written to, the graph is that of the events below S, and its
 * leaf is appended with that of the proof.
 *
 * A crash before the proof's leaf leaves at most a logged graph. A crash after it leaves the whole proof; the
 * next second's checkpoint then signs S′. Proven by `test/service/proofs/handlers.engines.test.ts`.
 */
import { completenessHeader, type ComplianceProof, type LayerName } from '../../contract/proofs.ts';
import { typeId } from '../../core/id.ts';
import { canonicalText } from '../../core/json/parse.ts';
import { composeProof, proofLeafFields } from '../../core/proofs/binding.ts';
import { shownLists, type ShownList } from '../../core/proofs/completeness.ts';
import { readStatement, type Statement } from '../../core/proofs/statement.ts';
import type { Checkpoint } from '../../core/note/checkpoint.ts';
import { draftLeaf } from '../../core/events/record.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { StoredProof } from '../../store/port/store.ts';
import { append, type Meter, type PlainEffect, type PlainRequest } from '../writes/append.ts';
import type { Caller } from '../call/caller.ts';
import type { Idempotency } from '../call/idempotency.ts';
import type { ReplayedResponse } from '../call/answer.ts';
import { idempotencyWrite } from '../call/idempotency.ts';
import { unlessOvertaken, untilStored } from '../call/overtaken.ts';
import { provedGraph, type ProvedGraph } from '../graphs/log.ts';
import { meterOf } from '../billing/quota.ts';
import { missingRun } from '../completeness/missing-run.ts';
import { jobCompleted } from '../jobs/events.ts';
import type { Services } from '../port/services.ts';
import type { Layers, RunOf } from '../call/work.ts';

interface ProveRequest extends RunOf {
  readonly layers: readonly LayerName[];
  readonly schemaVersion: string;
  /** Who asks. A synchronous proof is metered here; an asynchronous one was metered when it was accepted. */
  readonly by:
    | {
        readonly kind: 'call';
        readonly caller: Caller;
        readonly idempotency: Idempotency | null;
        readonly basePath: string;
      }
    | {
        readonly kind: 'job';
        readonly jobId: string;
        readonly lease: string;
        readonly signal: AbortSignal;
      };
}

export interface MadeProof {
  readonly proof: ComplianceProof;
  /** Whether the lists of the proof were compared with the map of the log. */
  readonly isChecked: boolean;
}

/** RUN_HAS_NO_EVENTS, CONFLICT where the lease of the job was lost, and errors of the append. */
export const prove = (services: Services, request: ProveRequest): Promise<MadeProof | ReplayedResponse> =>
  // where the graph is sealed meanwhile, the proof is about the sealed one
  untilStored(`the graph of run ${request.runId}`, () =>
    unlessOvertaken(attemptProof(services, request), 'GRAPH_SEALED'),
  );

async function attemptProof(
  services: Services,
  request: ProveRequest,
): Promise<MadeProof | ReplayedResponse> {
  const { projectId, runId, layers, schemaVersion } = request;
  const events = (await services.store.run(projectId, runId))?.events ?? 0;
  if (events === 0) throw await missingRun(services, request);
  const { graph, atSize } = layers.includes('causal_consistency')
    ? await provedGraph(services, request)
    : { graph: null, atSize: null };
  const signed = atSize?.signed ?? (await services.checkpoints.sign(projectId));
  if (layers.includes('log_inclusion')) await services.witnesses?.cosigned(projectId, signed);
  const { checkpoint } = signed;
  const timestampMs = await notBefore(services, request);
  const nonces = layers.map((name) => [name, services.randomBytes(16).toString('base64url')] as const);
  const input = {
    projectId,
    runId,
    layers,
    treeSize: checkpoint.size,
    origin: checkpoint.origin,
    keys: services.verifierKeys(checkpoint.origin),
    nonces: Object.fromEntries(nonces),
    witnesses: { keys: services.witnesses?.verifierKeys ?? [], quorum: services.witnesses?.quorum ?? 0 },
    graph,
    events,
  };
  const signal = request.by.kind === 'job' ? { signal: request.by.signal } : {};
  const computed = await services.work.run('layers', input, { events, ...signal });
  const isChecked = await requireComplete(services, projectId, { computed, checkpoint });
  const proofId = typeId('prf', timestampMs, services.randomBytes(10));
  const timestamp = formatTimestamp(timestampMs);
  const composed = composeProof({ proofId, runId, schemaVersion, timestamp, layers: computed.layers });
  const draft = { ...composed, computed, graphIndex: graph?.leafIndex ?? null, isChecked, atSize };
  const made = appendRequest(services, request, draft);
  const { by } = request;
  const counted = by.kind === 'call' ? { meter: proofMeter(services, by.caller) } : {};
  const stored = await append(services, made, counted);
  if ('replayed' in stored) return stored;
  await signOver(services, projectId);
  return { proof: composed.proof, isChecked };
}

/**
 * Compares the lists of the layers with the map of the log. STORAGE_FAULT where the tables lack events or decisions. Returns
 * false where the map is not built yet, so that nothing is compared; the answer says so.
 */
async function requireComplete(
  { indexer }: Services,
  projectId: string,
  { computed, checkpoint }: { computed: Layers; checkpoint: Checkpoint },
): Promise<boolean> {
  const { size, root } = checkpoint;
  const lists = listsOf(Object.fromEntries(computed.layers.map(({ name, statement }) => [name, statement])));
  const input = { projectId, mode: 'check', signed: { size, root }, treeSize: size, lists } as const;
  return (await indexer.index(input)) !== null;
}

/** The lists that the statements of a proof depend on. */
export function listsOf(statements: Readonly<Record<string, string>>): readonly ShownList[] {
  const read = new Map<string, Statement>();
  for (const [name, text] of Object.entries(statements)) {
    const statement = readStatement(text);
    if (statement !== null) read.set(name, statement);
  }
  const [first] = read.values();
  return first === undefined ? [] : shownLists(first.evidence, read);
}

/** Now, or the time of the run's newest event where the clock was set back after it. */
async function notBefore({ store, now }: Services, { projectId, runId }: RunOf): Promise<number> {
  return Math.max(now(), (await store.run(projectId, runId))?.lastServerMs ?? 0);
}

function appendRequest(
  { now, salt }: Services,
  { projectId, runId, by }: ProveRequest,
  draft: MadeProof &
    Pick<ProvedGraph, 'atSize'> & { preimage: string; computed: Layers; graphIndex: number | null },
): PlainRequest {
  const { proof, preimage, computed, graphIndex, atSize } = draft;
  // a proof is JSON by its type
  const text = canonicalText(proof);
  const createdMs = Date.parse(proof.createdAt);
  const saved: Omit<StoredProof, 'leafIndex'> = {
    proofId: proof.proofId,
    runId,
    createdMs,
    proof: text,
    preimage,
    statements: Object.fromEntries(computed.layers.map(({ name, statement }) => [name, statement])),
    treeSize: computed.evidence.treeSize,
    graphIndex,
  };
  const completed: PlainEffect[] =
    by.kind === 'call'
      ? []
      : [
          {
            kind: 'completeJob',
            jobId: by.jobId,
            lease: by.lease,
            result: text,
            atMs: Math.max(now(), createdMs),
          },
        ];
  const graphEffect: PlainEffect[] =
    atSize === null ? [] : [{ kind: 'saveGraph', graph: atSize.saved, leaf: 1 }];
  return {
    projectId,
    leaves: [
      draftLeaf('gov.proof/1', proofLeafFields(proof), { runId }),
      ...(atSize === null ? [] : [atSize.leaf]),
      ...(by.kind === 'call'
        ? []
        : [jobCompleted({ jobId: by.jobId, type: 'proof', runId }, { nowMs: now(), salt })]),
    ],
    effects: [
      ...graphEffect,
      { kind: 'saveProof', proof: saved, leaf: 0, ...(atSize === null ? {} : { graphLeaf: 1 }) },
      ...completed,
    ],
    ...(by.kind === 'call' ? idempotencyWrite(by.idempotency, provedAnswer(draft, by.basePath)) : {}),
  };
}

export const proofMeter = (services: Services, caller: Caller): Meter =>
  meterOf(services, { caller, op: 'compliance_proof', units: 1 });

export const provedAnswer = ({ proof, isChecked }: MadeProof, basePath: string) =>
  ({
    status: 201,
    body: proof,
    headers: {
      location: `${basePath}/proofs/${proof.proofId}`,
      [completenessHeader]: isChecked ? 'checked' : 'not_checked',
    },
  }) as const;

/**
 * Signs a checkpoint over the proof, which is already durable. After a failure the service tries again every
 * second.
 */
async function signOver({ checkpoints, witnesses, log }: Services, projectId: string): Promise<void> {
  try {
    const signed = await checkpoints.sign(projectId);
    await witnesses?.cosigned(projectId, signed);
  } catch (error) {
    log.warn({ err: error, projectId }, 'the checkpoint over a proof could not be signed yet');
  }
}
