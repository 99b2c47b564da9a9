/**
 * The configuration of a project as its data planes get it: policies in force, risk router, what is redacted, of one
 * moment. Its version is one more than the index of the newest leaf that changed any of them, so every process gives
 * the same one, it grows with each change, and equal versions are equal bytes. Proven by
 * `test/service/planes/project-config.test.ts`.
 */
import {
  planeConfigSchema,
  type PlaneConfigDocument,
  type SignedPlaneConfig,
} from '../../contract/plane-config.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { signPlaneConfig } from '../../core/plane/config.ts';
import { canonicalize, readJson, type Json, type JsonObject } from '../../core/json/parse.ts';
import { engine } from '../../core/policy/language/ast.ts';
import { policySetHash } from '../../core/policy/language/hash.ts';
import { systemRun } from '../../core/event/record.ts';
import { riskAlgorithm, type RiskConfig } from '../../core/risk/config.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ByAge, Project, StoreReader } from '../../store/port/store.ts';
import { notFound } from '../call/handler.ts';
import { byAge } from '../call/pages.ts';
import type { Services } from '../dependencies.ts';
import { settingsOf } from '../call/settings.ts';

export interface ProjectBundle {
  readonly bundleVersion: number;
  readonly bundleHash: string;
  readonly signed: SignedPlaneConfig;
}

/** Where the newest leaves stand that a bundle is made of; null for none. */
interface Moment {
  readonly policyIndex: number | null;
  readonly configIndex: number | null;
  /** When the project was changed last. */
  readonly updatedMs: number;
}

interface Made {
  readonly project: ProjectBundle;
  readonly of: Moment;
  readonly bytes: number;
}

/** Of the projects that were asked for last, the oldest first. */
const made = new Map<string, Made>();
let madeBytes = 0;

const attempts = 5;

/**
 * The signed bundle of a hosted project. CONFLICT where its policies are too much for one, OVERLOADED where it never
 * rests. Cost: three small reads where nothing changed; else reading, hashing and signing all of it.
 */
export async function bundleOf(services: Services, project: Project): Promise<ProjectBundle> {
  const { store } = services;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const before = await momentOf(store, project);
    const known = made.get(project.projectId);
    if (known !== undefined && isSame(known.of, before)) return known.project;
    const bundle = await read(store, project, before);
    if (bundle !== null && isSame(before, await momentOf(store, project))) {
      return keep(services, before, bundle);
    }
  }
  throw new GovError('OVERLOADED', 'the configuration kept changing meanwhile; repeat later', {
    retryAfterSeconds: limits.overloadRetrySeconds,
  });
}

const isSame = (one: Moment, other: Moment): boolean =>
  one.policyIndex === other.policyIndex &&
  one.configIndex === other.configIndex &&
  one.updatedMs === other.updatedMs;

async function momentOf(store: StoreReader, project: Project): Promise<Moment> {
  const { projectId, organizationId } = project;
  const newest = { limit: 1, order: 'desc' } as const;
  const [[policy], [config], stored] = await Promise.all([
    store.leavesOf(projectId, { type: 'gov.policy/1' }, newest),
    store.leavesOf(projectId, { type: 'gov.config/1' }, newest),
    store.storedProject(organizationId, projectId),
  ]);
  if (stored === null) throw notFound('project');
  return {
    policyIndex: policy?.index ?? null,
    configIndex: config?.index ?? null,
    updatedMs: stored.updatedMs,
  };
}

/** Null where anything is of another moment already. */
async function read(store: StoreReader, project: Project, of: Moment): Promise<PlaneConfigDocument | null> {
  const { projectId, organizationId, environment } = project;
  const { policies, policyIndex } = await store.policiesInForce(projectId);
  const { config, configIndex } = await store.riskConfig(projectId);
  const stored = await store.storedProject(organizationId, projectId);
  if (stored === null) throw notFound('project');
  if (!isSame(of, { policyIndex, configIndex, updatedMs: stored.updatedMs })) return null;
  const settingsIndex = await newestSettings(store, projectId);
  const newest = Math.max(policyIndex ?? 0, configIndex ?? 0, settingsIndex ?? 0);
  const { redactionKeys } = settingsOf(stored);
  const descriptions = await descriptionsOf(store, projectId);
  return {
    schemaVersion: planeConfigSchema,
    bundleVersion: newest + 1,
    projectId,
    environment,
    issuedAt: newest === 0 ? formatTimestamp(stored.createdMs) : await timeOf(store, projectId, newest),
    engine,
    policies: policies.map((policy) => ({
      policyId: policy.policyId,
      version: policy.version,
      name: policy.name,
      description: descriptions.get(policy.policyId) ?? null,
      condition: readJson(policy.normalized),
      action: policy.action,
      severity: policy.severity,
      policyHash: policy.policyHash,
    })),
    policySetHash: policySetHash(policies),
    riskConfig:
      config === null
        ? null
        : { algorithm: riskAlgorithm, config: readJson(config) as unknown as RiskConfig },
    settings: { redactionKeys: [...redactionKeys] },
  };
}

/** Index of the leaf that tells of the newest change of the project's name or settings. */
async function newestSettings(store: StoreReader, projectId: string): Promise<number | null> {
  const filter = { runId: systemRun, eventType: 'project.updated' };
  const [leaf] = await store.events(projectId, filter, { limit: 1, order: 'desc' });
  return leaf?.index ?? null;
}

const pagePolicies = 1000;

/** Of policies in force; they never change. */
async function descriptionsOf(
  store: StoreReader,
  projectId: string,
): Promise<ReadonlyMap<string, string | null>> {
  const descriptions = new Map<string, string | null>();
  let after: ByAge | undefined;
  for (;;) {
    const page = { limit: pagePolicies, ...(after === undefined ? {} : { after }) };
    const found = await store.policies(projectId, { status: 'active' }, page);
    for (const { policyId, description } of found) descriptions.set(policyId, description);
    const last = found.at(-1);
    if (last === undefined || found.length < pagePolicies) return descriptions;
    after = byAge(last.createdMs, last.policyId);
  }
}

async function timeOf(store: StoreReader, projectId: string, index: number): Promise<string> {
  const leaf = await store.leaf(projectId, index);
  if (leaf === null) throw new Error(`expected leaf ${index} of ${projectId}, got none`);
  const { at, serverTimestamp } = readJson(leaf.record) as JsonObject;
  const time = at ?? serverTimestamp;
  if (typeof time !== 'string') throw new Error(`expected a time in leaf ${index} of ${projectId}`);
  return time;
}

function keep({ hosting }: Services, of: Moment, bundle: PlaneConfigDocument): ProjectBundle {
  if (hosting === null) throw new Error('only a hosted service makes configurations of planes');
  const bytes = Buffer.byteLength(canonicalize(bundle as unknown as Json));
  const limit = limits.planeConfigBytes - limits.checkpointNoteChars;
  if (bytes > limit) {
    const detail =
      `expected policies in force of at most ${limit} bytes in all, got ${bytes}; ` +
      'archive some, so that data planes can take them';
    throw new GovError('CONFLICT', detail, { extensions: { limit } });
  }
  const { hash, signed } = signPlaneConfig(bundle, hosting.configSigner);
  const { projectId, bundleVersion } = bundle;
  const project = { bundleVersion, bundleHash: hash, signed };
  forget(projectId);
  made.set(projectId, { project, of, bytes });
  madeBytes += bytes;
  for (const oldest of made.keys()) {
    if (madeBytes <= limits.planeConfigCacheBytes) break;
    forget(oldest);
  }
  return project;
}

function forget(projectId: string): void {
  madeBytes -= made.get(projectId)?.bytes ?? 0;
  made.delete(projectId);
}
