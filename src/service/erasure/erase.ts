/**
 * Appends an erasure for a person, a key, or the retention of a project. The store checks for a legal hold in
 * the same transaction. Proven by `test/service/erasure/handlers.test.ts` and
 * `test/service/erasure/retention.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { draftErasure, type ErasureTarget } from '../../core/decided/erasure.ts';
import { typeId } from '../../core/id.ts';
import { readJson, type JsonObject } from '../../core/json/parse.ts';
import { formatTimestamp, parseTimestamp } from '../../core/time.ts';
import type { AppendRequest, Copies } from '../../store/port/store.ts';
import type { Project } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import { byOperator, type Requester } from '../writes/asking.ts';
import type { ReplayedResponse } from '../call/answer.ts';
import { removeExports } from '../exports/sweep.ts';
import { cleanupReports } from '../reports/removal.ts';
import { withdrawnReports, type LosingLeaf } from '../reports/withdraw.ts';
import type { Services } from '../port/services.ts';
import { planeRulesWith, settingsOf, type StoredSettings } from '../call/settings.ts';
import { erasureExecuted } from '../writes/system.ts';
import { untilStored } from '../call/overtaken.ts';

export interface ErasurePlan {
  readonly project: Project;
  readonly asking: Requester;
  /** As many as fit into one leaf: at most `limits.erasureTargets`, with `limits.erasureDigests` digests. */
  readonly targets: readonly ErasureTarget[];
  readonly reasonCode: string;
  /** When another credential asked for it, where one did. */
  readonly requestedMs?: number;
  /** The subject and the destruction of its key, as in the effect. */
  readonly subject?: string;
  readonly destroysKey?: boolean;
  /** The answer to store under the id of the erasure. */
  readonly kept?: (erasureId: string) => Pick<AppendRequest, 'idempotency'>;
}

/** Time for the removal of reports; the cleanup removes the others. */
const removeMs = 5000;

/**
 * CONFLICT under a legal hold, where another erasure took a target in the meantime, or where the subject's
 * key seals more than these targets.
 */
export async function erase(
  services: Services,
  { project, asking, targets, reasonCode, requestedMs, subject, destroysKey = false, kept }: ErasurePlan,
): Promise<{ readonly erasureId: string } | ReplayedResponse> {
  const { projectId } = project;
  const { copies, leaves } = await copiesOf(services, projectId, targets);
  return untilStored(`project ${projectId}`, async () => {
    const { settings, revisedMs } = await standingSettings(services, project);
    if (settings.legalHold) throw heldBack(projectId);
    const nowMs = services.now();
    const at = formatTimestamp(nowMs);
    const erasureId = typeId('ers', nowMs, services.randomBytes(10));
    const requestedAt = formatTimestamp(requestedMs ?? nowMs);
    const record = { erasureId, targets, reasonCode, requestedAt, executedAt: at, keyDestroyed: destroysKey };
    const reports = await withdrawnReports(services, projectId, leaves);
    const by = asking === byOperator ? null : asking.caller;
    // a worker may start or complete a report meanwhile: its document then has another version
    const stored = await append(
      services,
      {
        projectId,
        leaves: [draftErasure(record), erasureExecuted(record, { nowMs, salt: services.salt, by })],
        effects: [
          {
            kind: 'eraseFields',
            targets,
            leaf: 0,
            copies,
            ...(subject === undefined ? {} : { subject }),
            ...(destroysKey ? { destroysKey } : {}),
          },
          { kind: 'saveDocuments', changes: reports },
        ],
        ...kept?.(erasureId),
      },
      { by: asking, expect: revisedMs === null ? {} : { revisedMs } },
    ).catch(reportChanged);
    if (stored === null || 'replayed' in stored) return stored;
    if (stored.outcome !== 'stored') return null;
    services.searchIndexer.erased(projectId);
    await removeExpired(services, reports.filter((change) => 'save' in change).length);
    return { erasureId };
  });
}

/** Null for another version of a document; a conflict about the targets is for the caller, who finds them again. */
function reportChanged(error: unknown): null {
  if (error instanceof GovError && error.code === 'PRECONDITION_FAILED') return null;
  throw error;
}

/** Other places that keep values of these leaves. */
async function copiesOf(
  { store }: Services,
  projectId: string,
  targets: readonly ErasureTarget[],
): Promise<{ readonly copies: Copies; readonly leaves: readonly LosingLeaf[] }> {
  const leaves: LosingLeaf[] = [];
  /** By run: when the log recorded its newest event. */
  const lastOf = new Map<string, number | null>();
  const ids = new Set<string>();
  for (const { index } of targets) {
    const leaf = await store.leaf(projectId, index);
    if (leaf === null) continue;
    const clear = readJson(leaf.record) as JsonObject;
    const at = clear.serverTimestamp ?? clear.evaluatedAt;
    const atMs = typeof at === 'string' ? parseTimestamp(at) : null;
    const runId = typeof clear.runId === 'string' ? clear.runId : null;
    if (runId !== null && !lastOf.has(runId))
      lastOf.set(runId, (await store.run(projectId, runId))?.lastServerMs ?? null);
    leaves.push({ runId, atMs, lastMs: runId === null ? atMs : (lastOf.get(runId) ?? atMs) });
    for (const value of Object.values(clear)) {
      if (typeof value === 'string' && /^(?:pev|rsk)_/.test(value)) ids.add(value);
    }
  }
  return { copies: { runIds: [...lastOf.keys()], ids: [...ids] }, leaves };
}

/** Deletes artifacts that contain erased values. The sweeps delete those that cannot be deleted now. */
async function removeExpired(services: Services, reports: number): Promise<void> {
  try {
    await removeExports(services);
    if (reports === 0) return;
    services.wakeReports();
    await cleanupReports(services, { untilMs: services.now() + removeMs, most: reports });
  } catch (error) {
    services.log.warn({ err: error }, 'files that an erasure ended could not be removed yet');
  }
}

const heldBack = (projectId: string): GovError =>
  new GovError(
    'CONFLICT',
    `expected no legal hold on project ${projectId}; while it is set nothing is erased`,
  );

/** The project's settings from the store, not from a cached credential. */
export async function standingSettings(
  { store, hosting, planeSettings }: Services,
  { organizationId, projectId }: Project,
): Promise<{ readonly settings: StoredSettings; readonly revisedMs: number | null }> {
  const stored = hosting === null ? null : await store.storedProject(organizationId, projectId);
  if (stored === null) return { settings: planeRulesWith(planeSettings?.()).settings, revisedMs: null };
  return { settings: settingsOf(stored), revisedMs: stored.updatedMs };
}
