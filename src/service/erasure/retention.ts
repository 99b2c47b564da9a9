/**
 * Retention (contract I11; docs/how-to/keep-and-prune.md): erases bodies past the project's retention time in bounded
 * batches, each by a `gov.erasure/1` leaf with reason `retention`. Records, hashes and proofs stay; a legal
 * hold stops it. Several processes may sweep at once: the store refuses a target that another one erased, and
 * the sweep continues after it. A crash between batches leaves the rest to the next sweep. Proven by
 * `test/service/erasure/retention.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { readErasure, type ErasureTarget } from '../../core/decided/erasure.ts';
import { storedDigests } from '../../core/events/disclosure.ts';
import { systemRun } from '../../core/events/record.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { Leaf } from '../../store/port/store.ts';
import type { Project } from '../../store/port/store.ts';
import { byOperator } from '../writes/asking.ts';
import { erase, standingSettings } from './erase.ts';
import { polling } from '../call/poller.ts';
import type { Services } from '../port/services.ts';

const retentionReason = 'retention';

const dayMs = 86_400_000;
/** The first sweep follows soon after the start, so that a process that restarts every day sweeps too. */
const firstAfterMs = 60_000;
const chunkLeaves = 200;

/**
 * Sweeps once a day; the returned function stops it. `projectId`: the project of a plane, or null for all
 * projects of a service.
 */
export const startRetention = (services: Services, projectId: string | null) =>
  polling({
    everyMs: dayMs,
    firstAfterMs,
    poll: (signal) => sweepRetention(services, { projectId, signal }),
    log: services.log,
    failed: 'retention could not be applied yet',
    level: 'warn',
  });

interface Sweep {
  readonly projectId: string | null;
  readonly signal: AbortSignal;
}

/** Returns how many events and decisions lost their bodies. */
export async function sweepRetention(services: Services, { projectId, signal }: Sweep): Promise<number> {
  let erased = 0;
  for await (const project of projectsOf(services, projectId)) {
    if (signal.aborted) break;
    const leaves = await sweepProject(services, project, signal);
    if (leaves > 0)
      services.log.info({ projectId: project.projectId, leaves }, 'bodies past their retention are erased');
    erased += leaves;
  }
  return erased;
}

const pageProjects = 100;

async function* projectsOf({ store }: Services, projectId: string | null): AsyncGenerator<Project, void> {
  if (projectId !== null) {
    const project = await store.project(projectId);
    if (project !== null) yield project;
    return;
  }
  for (let after: string | undefined; ;) {
    const page = { ...(after === undefined ? {} : { after }), limit: pageProjects };
    const found = await store.everyProject({}, page);
    for (const { project } of found) yield project;
    if (found.length < pageProjects) return;
    after = found.at(-1)?.project.projectId;
  }
}

/** How long a project keeps bodies. Null: permanently, or while a legal hold is set. */
async function keptMs(services: Services, project: Project): Promise<number | null> {
  const { settings } = await standingSettings(services, project);
  const { retentionDays, legalHold } = settings;
  if (legalHold || retentionDays === null) return null;
  const least = project.environment === 'production' ? limits.retentionDaysProduction : 0;
  return Math.max(retentionDays, least) * dayMs;
}

async function sweepProject(services: Services, project: Project, signal: AbortSignal): Promise<number> {
  const kept = await keptMs(services, project);
  if (kept === null) return 0;
  const slice = services.slices.of(project.projectId);
  const batch = new Batch(services, project);
  const pruned = await services.store.prunedBelow(project.projectId);
  let from = Math.max(pruned, await firstUnswept(services, project));
  for (;;) {
    await slice.next();
    if (signal.aborted) return batch.erased;
    const range = { from, to: from + chunkLeaves };
    const leaves = await services.store.leaves(project.projectId, 'audit', range);
    for (const leaf of leaves) {
      const recordedMs = timeOf(leaf);
      if (recordedMs !== null && recordedMs >= services.now() - kept) {
        await batch.flush();
        return batch.erased;
      }
      if (recordedMs !== null && !(await batch.add(leaf))) return batch.erased;
    }
    if (leaves.length < chunkLeaves) {
      await batch.flush();
      return batch.erased;
    }
    from += chunkLeaves;
  }
}

/** Targets of the next erasure. */
class Batch {
  erased = 0;
  readonly #services: Services;
  readonly #project: Project;
  #targets: ErasureTarget[] = [];
  #digests = 0;

  constructor(services: Services, project: Project) {
    this.#services = services;
    this.#project = project;
  }

  /** False where a legal hold was set in the meantime. */
  async add({ index, disclosures }: Leaf): Promise<boolean> {
    const digests = disclosures === null ? [] : (storedDigests(disclosures) ?? []);
    if (digests.length === 0) return true;
    const isFull =
      this.#targets.length === limits.erasureTargets ||
      this.#digests + digests.length > limits.erasureDigests;
    if (isFull && !(await this.flush())) return false;
    this.#targets.push({ index, digests });
    this.#digests += digests.length;
    return true;
  }

  async flush(): Promise<boolean> {
    const targets = this.#targets;
    if (targets.length === 0) return true;
    this.#targets = [];
    this.#digests = 0;
    try {
      const reasonCode = retentionReason;
      await erase(this.#services, { project: this.#project, asking: byOperator, targets, reasonCode });
    } catch (error) {
      if (!(error instanceof GovError) || error.code !== 'CONFLICT') throw error;
      return this.#afresh(targets);
    }
    this.erased += targets.length;
    return true;
  }

  /** Erases the targets one by one after another process or a person erased some of them. */
  async #afresh(targets: readonly ErasureTarget[]): Promise<boolean> {
    if ((await keptMs(this.#services, this.#project)) === null) return false;
    const { store } = this.#services;
    const { projectId } = this.#project;
    const left: ErasureTarget[] = [];
    for (const { index } of targets) {
      const leaf = await store.leaf(projectId, index);
      const digests = storedDigests(leaf?.disclosures ?? '[]') ?? [];
      if (digests.length > 0) left.push({ index, digests });
    }
    this.#targets = left;
    this.#digests = left.reduce((sum, { digests }) => sum + digests.length, 0);
    return this.flush();
  }
}

/** When an event or decision was recorded. Null for a leaf that keeps its body. */
function timeOf({ record }: Leaf): number | null {
  const { type, runId, serverTimestamp, evaluatedAt } = JSON.parse(record) as Record<
    string,
    string | undefined
  >;
  if (type === 'gov.event/1') return runId === systemRun ? null : parseTimestamp(serverTimestamp ?? '');
  if (type === 'gov.evaluation/1' || type === 'gov.decision/1') return parseTimestamp(evaluatedAt ?? '');
  return null;
}

/**
 * Erasures that are read to find the newest one by retention; beyond that, the sweep starts at the log's
 * first leaf.
 */
const lookedAt = 1000;

/**
 * The first leaf to sweep. Retention reads the log in order, so everything before its last erasure is done.
 */
async function firstUnswept({ store }: Services, { projectId }: Project): Promise<number> {
  let after: number | undefined;
  for (let seen = 0; seen < lookedAt; seen += 100) {
    const page = { ...(after === undefined ? {} : { after }), limit: 100, order: 'desc' } as const;
    const leaves = await store.leavesOf(projectId, { type: 'gov.erasure/1' }, page);
    for (const { record } of leaves) {
      const erasure = readErasure(record);
      if (erasure?.reasonCode === retentionReason) return (erasure.targets.at(-1)?.index ?? -1) + 1;
    }
    if (leaves.length < 100) return 0;
    after = leaves.at(-1)?.index;
  }
  return 0;
}
