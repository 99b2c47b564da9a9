/**
 * Appends an erasure: by a person or key that asks for it, or by the retention of a project. A legal hold is judged by
 * the project as it stands in the transaction. Proven by `test/service/erasure/handlers.test.ts` and `test/service/erasure/retention.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { draftErasure, type ErasureTarget } from '../../core/decided/erasure.ts';
import { typeId } from '../../core/id.ts';
import { readJson, type JsonObject } from '../../core/json/parse.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { AppendRequest, Copies, Project } from '../../store/port/store.ts';
import { unmetered } from '../events/append.ts';
import { appendForOrStale, byOperator, type Asking } from '../events/asking.ts';
import type { Replayed } from '../call/handler.ts';
import { removeExports } from '../exports/sweep.ts';
import type { Services } from '../dependencies.ts';
import { planeRulesWith, settingsOf, type StoredSettings } from '../call/settings.ts';
import { erasureExecuted } from '../system.ts';

export interface Erasing {
  readonly project: Project;
  readonly asking: Asking;
  /** As many as fit into one leaf (`firstTargets`). */
  readonly targets: readonly ErasureTarget[];
  readonly reasonCode: string;
  /** Where it was asked for before. */
  readonly requestedMs?: number;
  /** As of the effect, both. */
  readonly subject?: string;
  readonly destroysKey?: boolean;
  /** What is kept under the id of the erasure. */
  readonly kept?: (erasureId: string) => Pick<AppendRequest, 'idempotency'>;
}

const attempts = 5;

/** CONFLICT under a legal hold, and where what is to be erased went meanwhile, or is not all that its key seals. */
export async function erase(
  services: Services,
  { project, asking, targets, reasonCode, requestedMs, subject, destroysKey = false, kept }: Erasing,
): Promise<{ readonly erasureId: string } | Replayed> {
  const { projectId } = project;
  const copies = await copiesOf(services, projectId, targets);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { settings, revisedMs } = await standingSettings(services, project);
    if (settings.legalHold) throw heldBack(projectId);
    const nowMs = services.now();
    const at = formatTimestamp(nowMs);
    const erasureId = typeId('ers', nowMs, services.randomBytes(10));
    const requestedAt = formatTimestamp(requestedMs ?? nowMs);
    const record = { erasureId, targets, reasonCode, requestedAt, executedAt: at, keyDestroyed: destroysKey };
    const by = asking === byOperator ? null : asking.caller;
    const stored = await appendForOrStale(services, asking, {
      projectId,
      leaves: [draftErasure(record), erasureExecuted(record, { nowMs, salt: services.salt, by })],
      meter: unmetered,
      effects: [
        {
          kind: 'eraseFields',
          targets,
          leaf: 0,
          copies,
          ...(subject === undefined ? {} : { subject }),
          ...(destroysKey ? { destroysKey } : {}),
        },
      ],
      ...(revisedMs === null ? {} : { revisedMs }),
      ...kept?.(erasureId),
    });
    if ('replayed' in stored) return stored;
    if (stored.outcome === 'stored') {
      await removeExpired(services);
      return { erasureId };
    }
  }
  throw new GovError('OVERLOADED', `project ${projectId} kept changing meanwhile; repeat later`, {
    retryAfterSeconds: limits.overloadRetrySeconds,
  });
}

/** Where else values of these leaves are kept. */
async function copiesOf(
  { store }: Services,
  projectId: string,
  targets: readonly ErasureTarget[],
): Promise<Copies> {
  const runIds = new Set<string>();
  const ids = new Set<string>();
  for (const { index } of targets) {
    const leaf = await store.leaf(projectId, index);
    if (leaf === null) continue;
    const clear = readJson(leaf.record) as JsonObject;
    if (typeof clear['runId'] === 'string') runIds.add(clear['runId']);
    for (const value of Object.values(clear)) {
      if (typeof value === 'string' && /^(?:pev|rsk)_/.test(value)) ids.add(value);
    }
  }
  return { runIds: [...runIds], ids: [...ids] };
}

/** Artifacts that hold what was erased; what cannot be removed now is by the sweep. */
async function removeExpired(services: Services): Promise<void> {
  try {
    await removeExports(services);
  } catch (error) {
    services.log.warn({ err: error }, 'exports that an erasure ended could not be removed yet');
  }
}

const heldBack = (projectId: string): GovError =>
  new GovError(
    'CONFLICT',
    `expected no legal hold on project ${projectId}; while it is set nothing is erased`,
  );

/** By the store, not by what a process remembers of a credential. */
export async function standingSettings(
  { store, hosting, planeSettings }: Services,
  { organizationId, projectId }: Project,
): Promise<{ readonly settings: StoredSettings; readonly revisedMs: number | null }> {
  const stored = hosting === null ? null : await store.storedProject(organizationId, projectId);
  if (stored === null) return { settings: planeRulesWith(planeSettings?.()).settings, revisedMs: null };
  return { settings: settingsOf(stored), revisedMs: stored.updatedMs };
}
