/**
 * The checks of a request's effects, the same for both engines.
 * Each effect is judged by the rows that earlier requests left, then written. A refused effect refuses its
 * request. `src/store/rules/tenants.ts` judges the effects of tenants.
 * Proven by `test/store/suite/log/work.ts`, `test/store/suite/log/decided.ts`,
 * `test/store/suite/governance/jobs.ts` and `test/store/suite/governance/policies.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { eraseDigests, type KeptBody } from '../../core/events/erased.ts';
import { blockLeaves } from '../../core/search/places.ts';
import { readJson, type Json } from '../../core/json/parse.ts';
import type {
  LeafOutcome,
  Copies,
  ExportHoldings,
  GovernanceEffect,
  NewJob,
  StoredGraph,
  StoredPolicy,
  StoredPolicyVersion,
  StoredProof,
} from '../port/store.ts';
import type { Effect, Fact } from '../port/store.ts';
import type { ErasableBody } from '../erasure/erasable-body.ts';
import { destroySubjectKey, isOwed, type SubjectKeyRows } from '../erasure/subject-keys.ts';
import { changeDocuments, type DocumentRows } from './documents.ts';
import { decideApproval, openApproval, useApproval, type ApprovalRows } from './approvals.ts';
import { refuseMoreBytes, refuseMoreExports } from '../rules/export-bounds.ts';
import { applyTenantEffect, type TenantRows } from '../rules/tenants.ts';

type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

/** The search index of one project, block by block. */
interface EventTermRows {
  /** Forgets the terms from this block on; they are indexed again. */
  dropTermsFrom(block: number): void;
  dropTermsBelow(block: number): void;
}

/** The rows of one project that effects read and write. */
export interface EffectRows extends TenantRows, SubjectKeyRows, ApprovalRows, DocumentRows, EventTermRows {
  saveProof(proof: StoredProof): void;
  saveGraph(graph: StoredGraph): void;
  heldExports(): ExportHoldings;
  createExport(exported: EffectOf<'createExport'>['exported']): void;
  /** False if the export is already complete. */
  finishExport(effect: EffectOf<'finishExport'>): boolean;
  /**
   * Ends exports that contain erased values. Completed exports with rows among these leaves expire. Exports
   * under construction start again.
   */
  expireExports(erased: ErasedLeaves): void;
  /**
   * Replaces results of replays by `withdrawnText(leaf)`, starts running replays again and drops stored
   * answers.
   */
  withdrawCopies(copies: Copies, at: { readonly leaf: number; readonly atMs: number }): void;
  isSealed(runId: string): boolean;
  /** Null without a declaration. */
  declarationHash(runId: string): string | null;
  declareGraph(effect: EffectOf<'declareGraph'>): void;
  sealGraph(runId: string, seal: { readonly rootHash: string; readonly atMs: number }): void;
  enqueueJob(job: NewJob): void;
  /** Null if the leaf has no committed fields. */
  body(index: number): ErasableBody | null;
  saveBody(index: number, body: KeptBody, keys: { readonly isOwed: boolean }): void;
  /** Forgets the client's own id of the event at this leaf. The caller has already stored the erased body. */
  dropClientId(clientEventId: string, index: number): void;
  /** Forgets that a leaf is about a subject. The caller has already stored the erased body. */
  dropSubject(subject: string, index: number): void;
  /** The same as `StoreReader.prunedBelow`. */
  prunedBelow(): number;
  savePrune(leaf: number, minIndex: number, root: Uint8Array): void;
  /** False if the lease was lost. */
  completeJob(effect: EffectOf<'completeJob'>): boolean;
  /** False if the lease was lost. */
  failJob(effect: EffectOf<'failJob'>): boolean;
  /** False if the job is in another state. */
  cancelJob(effect: EffectOf<'cancelJob'>): boolean;
  /** False if the job is in another state, or has no request. */
  retryJob(effect: EffectOf<'retryJob'>): boolean;
  /** Null if there is no such fact. */
  fact(name: string): string | null;
  saveFact(name: string, fact: Fact): void;
  policy(policyId: string): Pick<StoredPolicy, 'revision' | 'status' | 'latestVersion'> | null;
  createPolicy(policy: StoredPolicy): void;
  saveVersion(version: StoredPolicyVersion): void;
  raiseVersion(version: StoredPolicyVersion): void;
  movePolicy(effect: EffectOf<'movePolicy'>): void;
  /** Null if there is no such version. */
  isPublished(policyId: string, version: number): boolean | null;
  publish(policyId: string, version: number): void;
  activePolicies(): number;
  saveRiskConfig(effect: EffectOf<'saveRiskConfig'>): void;
  /** False if the run has a snapshot. */
  claimSnapshot(runId: string): boolean;
}

/** The first and last leaf of an erasure, and its server time. */
interface ErasedLeaves {
  readonly first: number;
  readonly last: number;
  readonly atMs: number;
}

/** Applies one effect of a request. `assigned` has the indexes of the request's leaves. */
export function applyEffect(rows: EffectRows, effect: Effect, assigned: readonly LeafOutcome[]): void {
  switch (effect.kind) {
    case 'saveProof':
      return saveProof(rows, effect, assigned);
    case 'saveGraph':
      refuseSealed(rows, effect.graph.runId);
      return rows.saveGraph({ ...effect.graph, leafIndex: appendedLeaf(effect, assigned).index });
    case 'declareGraph':
      refuseSealed(rows, effect.runId);
      if (effect.fromHash !== undefined) refuseOtherDeclaration(rows, effect.runId, effect.fromHash);
      return rows.declareGraph(effect);
    case 'sealGraph':
      refuseSealed(rows, effect.runId);
      refuseOtherDeclaration(rows, effect.runId, effect.declarationHash);
      return rows.sealGraph(effect.runId, {
        rootHash: effect.rootHash,
        atMs: appendedLeaf(effect, assigned).serverMs,
      });
    case 'enqueueJob':
      return rows.enqueueJob(effect.job);
    case 'saveFacts':
      return saveFacts(rows, effect);
    case 'saveDocuments':
      return changeDocuments(rows, effect.changes);
    case 'completeJob':
    case 'failJob':
      if (effect.kind === 'failJob' ? rows.failJob(effect) : rows.completeJob(effect)) return;
      throw new GovError(
        'CONFLICT',
        `expected the lease of job ${effect.jobId}, got a lost one; another worker has the job, or it was cancelled`,
      );
    case 'cancelJob':
    case 'retryJob':
      if (effect.kind === 'cancelJob' ? rows.cancelJob(effect) : rows.retryJob(effect)) return;
      throw new GovError(
        'CONFLICT',
        `expected job ${effect.jobId} to be still ${effect.from.status}, got another state; read it again`,
      );
    case 'createExport':
      refuseMoreExports(rows.heldExports(), effect.most);
      return rows.createExport(effect.exported);
    case 'finishExport':
      if (rows.finishExport(effect)) return refuseMoreBytes(rows.heldExports(), effect.most);
      throw new GovError('CONFLICT', `expected an export that is not complete, got ${effect.exportId}`);
    case 'eraseFields':
      return eraseFields(rows, effect, appendedLeaf(effect, assigned));
    case 'prune':
      return prune(rows, effect, appendedLeaf(effect, assigned).index);
    case 'createPolicy':
    case 'addPolicyVersion':
    case 'movePolicy':
    case 'saveRiskConfig':
    case 'claimSnapshot':
    case 'openApproval':
    case 'decideApproval':
    case 'useApproval':
      return govern(rows, effect, assigned);
    default:
      return applyTenantEffect(rows, effect);
  }
}

function prune(rows: EffectRows, { minIndex, root }: EffectOf<'prune'>, leaf: number): void {
  const before = rows.prunedBelow();
  if (minIndex <= before || minIndex > leaf) {
    throw new GovError('CONFLICT', `expected a prune index from ${before + 1} to ${leaf}, got ${minIndex}`);
  }
  rows.savePrune(leaf, minIndex, root);
  rows.dropTermsBelow(Math.floor(minIndex / blockLeaves));
}

function eraseFields(
  rows: EffectRows,
  { targets, subject, destroysKey, copies }: EffectOf<'eraseFields'>,
  { index: leaf, serverMs }: AppendedLeaf,
): void {
  const named: (readonly string[])[] = [];
  for (const { index, digests } of targets) {
    const body = rows.body(index);
    const after = body === null ? null : eraseDigests(body, { digests, leaf });
    if (after === null) {
      throw new GovError(
        'CONFLICT',
        `expected fields that leaf ${index} still has, got an erased or unknown one; read the leaf again and repeat`,
        { transient: true },
      );
    }
    const keys = body?.keys ?? [];
    named.push(keys);
    const owes = destroysKey !== true && body?.isGone === true && isOwed(rows, keys);
    rows.saveBody(index, after.body, { isOwed: owes });
    if (subject !== undefined && !owes) rows.dropSubject(subject, index);
    for (const text of after.removed) {
      const [, pointer, value] = readJson(text) as readonly Json[];
      if (pointer === '/clientEventId' && typeof value === 'string') rows.dropClientId(value, index);
    }
  }
  if (destroysKey === true && subject !== undefined) destroySubjectKey(rows, { subject, leaf, named });
  const indexes = targets.map(({ index }) => index);
  if (copies !== undefined) rows.withdrawCopies(copies, { leaf, atMs: serverMs });
  if (indexes.length === 0) return;
  rows.dropTermsFrom(Math.floor(Math.min(...indexes) / blockLeaves));
  rows.expireExports({ first: Math.min(...indexes), last: Math.max(...indexes), atMs: serverMs });
}

interface AppendedLeaf {
  readonly index: number;
  readonly serverMs: number;
}

function appendedLeaf(
  { kind, leaf }: { kind: string; leaf: number },
  assigned: readonly LeafOutcome[],
): AppendedLeaf {
  const place = assigned[leaf];
  if (place?.outcome === 'appended') return place;
  throw new Error(
    `expected an appended leaf ${leaf} of the request for ${kind}, got ${place?.outcome ?? 'none'}`,
  );
}

/** The time of the log at this request; 0 where it appends no leaf. */
const timeOf = (assigned: readonly LeafOutcome[]): number =>
  Math.max(0, ...assigned.map((place) => (place.outcome === 'appended' ? place.serverMs : 0)));

function saveFacts(rows: EffectRows, { facts, day }: EffectOf<'saveFacts'>): void {
  for (const { name, from, to } of facts) {
    if (rows.fact(name) !== from) {
      throw new GovError('CONFLICT', `expected fact ${name} unchanged, got another value; read it again`);
    }
    rows.saveFact(name, { value: to, day });
  }
}

function saveProof(
  rows: EffectRows,
  { proof, leaf, graphLeaf }: EffectOf<'saveProof'>,
  assigned: readonly LeafOutcome[],
): void {
  const of = (position: number): number =>
    appendedLeaf({ kind: 'saveProof', leaf: position }, assigned).index;
  const graphIndex = graphLeaf === undefined ? proof.graphIndex : of(graphLeaf);
  rows.saveProof({ ...proof, graphIndex, leafIndex: of(leaf) });
}

/** CONFLICT where somebody declared in the meantime: what was derived lacks it. */
function refuseOtherDeclaration(rows: EffectRows, runId: string, expected: string | null): void {
  if (rows.declarationHash(runId) === expected) return;
  const detail = `expected the declaration of run ${runId} unchanged, got another one; read it again`;
  throw new GovError('CONFLICT', detail, { transient: true });
}

function refuseSealed(rows: EffectRows, runId: string): void {
  if (!rows.isSealed(runId)) return;
  throw new GovError(
    'GRAPH_SEALED',
    `expected an open graph of run ${runId}, got a sealed one, which never changes`,
  );
}

function govern(rows: EffectRows, effect: GovernanceEffect, assigned: readonly LeafOutcome[]): void {
  switch (effect.kind) {
    case 'createPolicy':
      return createPolicy(rows, effect);
    case 'addPolicyVersion':
      return addVersion(rows, effect);
    case 'movePolicy':
      return movePolicy(rows, effect);
    case 'saveRiskConfig':
      return rows.saveRiskConfig(effect);
    case 'claimSnapshot':
      if (rows.claimSnapshot(effect.runId)) return;
      throw new GovError(
        'CONFLICT',
        `expected a run without a snapshot, got run ${effect.runId}, which has one; the first one stays`,
      );
    case 'openApproval':
      return openApproval(rows, effect, timeOf(assigned));
    case 'decideApproval':
      return decideApproval(rows, effect, timeOf(assigned));
    case 'useApproval':
      return useApproval(rows, effect, timeOf(assigned));
  }
}

function createPolicy(rows: EffectRows, { policy, version }: EffectOf<'createPolicy'>): void {
  if (rows.policy(policy.policyId) !== null) {
    throw new GovError('CONFLICT', `expected a new policy id, got ${policy.policyId}, which exists`);
  }
  rows.createPolicy(policy);
  rows.saveVersion(version);
}

type PolicyState = NonNullable<ReturnType<EffectRows['policy']>>;

/** Returns the stored policy. Throws CONFLICT if it changed after `revision`. */
function unchanged(rows: EffectRows, policyId: string, revision: number): PolicyState {
  const policy = rows.policy(policyId);
  if (policy === null) throw new GovError('NOT_FOUND', `expected a policy of this project, got ${policyId}`);
  if (policy.revision === revision) return policy;
  throw new GovError(
    'CONFLICT',
    `expected revision ${revision} of policy ${policyId}, got revision ${policy.revision}: ` +
      'somebody changed it meanwhile; read it again',
  );
}

function addVersion(rows: EffectRows, { version, revision, counted }: EffectOf<'addPolicyVersion'>): void {
  const { policyId, version: number } = version;
  const { latestVersion } = unchanged(rows, policyId, revision);
  if (number > limits.policyVersions) {
    throw new GovError(
      'CONFLICT',
      `expected at most ${limits.policyVersions} versions of policy ${policyId}, got one more; create another policy`,
    );
  }
  if (counted === undefined && number !== latestVersion + 1) {
    throw new Error(`expected version ${latestVersion + 1} of ${policyId}, got ${number}`);
  }
  if (rows.isPublished(policyId, number) !== null) {
    throw new GovError(
      'CONFLICT',
      `expected a new version of policy ${policyId}, got version ${number}, which exists`,
    );
  }
  rows.saveVersion(version);
  rows.raiseVersion({ ...version, version: Math.max(number, latestVersion) });
}

function movePolicy(rows: EffectRows, effect: EffectOf<'movePolicy'>): void {
  const { policyId, revision, status, activeVersion } = effect;
  const before = unchanged(rows, policyId, revision);
  if (status === 'active' && before.status !== 'active' && rows.activePolicies() >= limits.policiesActive) {
    throw new GovError(
      'CONFLICT',
      `expected at most ${limits.policiesActive} active policies, got one more; disable or archive another one first`,
    );
  }
  if (activeVersion !== null) {
    const published = rows.isPublished(policyId, activeVersion);
    if (published === null) {
      throw new Error(`expected version ${activeVersion} of policy ${policyId}, got none`);
    }
    if (!published) rows.publish(policyId, activeVersion);
  }
  rows.movePolicy(effect);
}
