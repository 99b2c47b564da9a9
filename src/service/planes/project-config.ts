/**
 * The signed configuration of a project for its data planes: policies in force, risk router and redaction of
 * one moment. Its version is one more than the index of the newest leaf that changed any of them. So every
 * process makes the same configuration, versions grow with each change, and equal versions have equal bytes.
 * Proven by `test/service/planes/project-config.test.ts`.
 */
import {
  planeConfigSchema,
  type PlaneConfigDocument,
  type SignedPlaneConfig,
} from '../../contract/plane-config.ts';
import { limits } from '../../contract/limits.ts';
import { nameOf, unsaid, type PolicyName } from '../../contract/policy-words.ts';
import { GovError } from '../../contract/problems.ts';
import { signPlaneConfig } from '../../core/planes/config.ts';
import { canonicalize, readJson, type Json, type JsonObject } from '../../core/json/parse.ts';
import { engine } from '../../core/policies/language/ast.ts';
import { policySetHash } from '../../core/policies/language/hash.ts';
import { systemRun } from '../../core/events/record.ts';
import { riskAlgorithm, type RiskConfig } from '../../core/risk/config.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ByAge, Project, StoreReader } from '../../store/port/store.ts';
import { notFound } from '../call/answer.ts';
import { byAge } from '../call/pages.ts';
import type { Services } from '../port/services.ts';
import { settingsOf, type StoredSettings } from '../call/settings.ts';
import { untilStored } from '../call/overtaken.ts';

interface SignedProjectConfig {
  readonly bundleVersion: number;
  readonly bundleHash: string;
  readonly signed: SignedPlaneConfig;
}

/** Indexes of the newest leaves of a configuration; null for none. */
interface Moment {
  readonly policyIndex: number | null;
  readonly configIndex: number | null;
  /** When the project last changed. */
  readonly updatedMs: number;
}

interface SignedConfig {
  readonly project: SignedProjectConfig;
  readonly of: Moment;
  readonly bytes: number;
}

/** The last requested configurations, the oldest first. */
const made = new Map<string, SignedConfig>();
let madeBytes = 0;

/**
 * The signed configuration of a hosted project. CONFLICT where its policies are too large for one, OVERLOADED
 * where it keeps changing. Cost: three small reads where nothing changed; else reading, hashing and signing
 * all of it.
 */
export function signedConfigOf(services: Services, project: Project): Promise<SignedProjectConfig> {
  const { store } = services;
  return untilStored('the configuration', async () => {
    const before = await momentOf(store, project);
    const known = made.get(project.projectId);
    if (known !== undefined && isSame(known.of, before)) return known.project;
    const config = await read(store, project, before);
    const isOfOneMoment = config !== null && isSame(before, await momentOf(store, project));
    return isOfOneMoment ? keep(services, before, config) : null;
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

/** Null where any part is of a later moment. */
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
  // a default that nobody chose decides nothing at a plane
  const { contentCapture } = JSON.parse(stored.settings) as Partial<StoredSettings>;
  const names = await namesOf(store, projectId);
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
      ...nameOf({ ...unsaid, ...policy, ...names.get(policy.policyId) }),
      condition: readJson(policy.normalized),
      action: policy.action,
      severity: policy.severity,
      ...(policy.requireSignedApproval ? { requireSignedApproval: true as const } : {}),
      ...(policy.onIndeterminate === null ? {} : { onIndeterminate: policy.onIndeterminate }),
      policyHash: policy.policyHash,
    })),
    policySetHash: policySetHash(policies),
    riskConfig:
      config === null
        ? null
        : { algorithm: riskAlgorithm, config: readJson(config) as unknown as RiskConfig },
    settings: {
      redactionKeys: [...redactionKeys],
      ...(contentCapture === undefined ? {} : { contentCapture }),
    },
  };
}

/** Index of the leaf that records the newest change of the project's name or settings. */
async function newestSettings(store: StoreReader, projectId: string): Promise<number | null> {
  const filter = { runId: systemRun, eventType: 'project.updated' };
  const [leaf] = await store.events(projectId, filter, { limit: 1, order: 'desc' });
  return leaf?.index ?? null;
}

const pagePolicies = 1000;

/** Names and descriptions of policies in force; they never change. */
async function namesOf(store: StoreReader, projectId: string): Promise<ReadonlyMap<string, PolicyName>> {
  const names = new Map<string, PolicyName>();
  let after: ByAge | undefined;
  for (;;) {
    const page = { limit: pagePolicies, ...(after === undefined ? {} : { after }) };
    const found = await store.policies(projectId, { status: 'active' }, page);
    for (const policy of found) names.set(policy.policyId, nameOf(policy));
    const last = found.at(-1);
    if (last === undefined || found.length < pagePolicies) return names;
    after = byAge(last.createdMs, last.policyId);
  }
}

async function timeOf(store: StoreReader, projectId: string, index: number): Promise<string> {
  const leaf = await store.leaf(projectId, index);
  if (leaf === null) throw new Error(`expected leaf ${index} of ${projectId}, got none`);
  const { at, serverTimestamp } = readJson(leaf.record) as JsonObject;
  const time = at ?? serverTimestamp;
  if (typeof time !== 'string') throw new Error(`expected a time in leaf ${index} of ${projectId}, got none`);
  return time;
}

function keep({ hosting }: Services, of: Moment, config: PlaneConfigDocument): SignedProjectConfig {
  if (hosting === null)
    throw new Error('expected a hosted service, got a plane: only a service signs configurations');
  const bytes = Buffer.byteLength(canonicalize(config as unknown as Json));
  const limit = limits.planeConfigBytes - limits.checkpointNoteChars;
  if (bytes > limit) {
    const detail =
      `expected policies in force of at most ${limit} bytes in all, got ${bytes}; ` +
      'archive some, so that data planes can take them';
    throw new GovError('CONFLICT', detail, { extensions: { limit } });
  }
  const { hash, signed } = signPlaneConfig(config, hosting.configSigner);
  const { projectId, bundleVersion } = config;
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
