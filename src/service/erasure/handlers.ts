/**
 * Handlers of erasure (contract I11; docs/explanation/how-erasure-works.md): delete salts and values of an event or decision, or
 * everything about a subject. Digests, leaves and proofs stay. The `gov.erasure/1` leaf, the audit event and
 * the changed bodies are one append; a crash before the store answers leaves all of it or none. Proven by
 * `test/service/erasure/handlers.test.ts`.
 */
import type { Erasure, ErasureDone, ErasureWhole } from '../../contract/erasure.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { readErasure, type ErasureTarget } from '../../core/decided/erasure.ts';
import type { Leaf } from '../../store/port/store.ts';
import { idempotencyWrite } from '../call/idempotency.ts';
import { notFound, type PlainAnswer } from '../call/answer.ts';
import type { Handlers } from '../port/handler.ts';
import { erase } from './erase.ts';
import { erasureRequest, requireSecondCredential } from './request.ts';
import { findTargets, type ErasureTargets } from './targets.ts';
import { listPage, pageLimit } from '../call/pages.ts';
import { unlessOvertaken, untilStored } from '../call/overtaken.ts';

const scope = 'erasure:write';
const reasonDefault = 'unspecified';

export const erasures: Pick<Handlers, 'createErasure' | 'listErasures' | 'getErasure'> = {
  async createErasure({ body, caller, basePath, idempotency }, services) {
    const { reasonCode = reasonDefault, dryRun = false } = body;
    const isTwo = caller.rules.settings.requireTwoPersonErasure;
    if (dryRun) {
      const { targets, complete, hasKey = false } = await findTargets(services, caller, body);
      const request = isTwo ? { request: erasureRequest(services, caller, body) } : {};
      const outcome = done(null, { targets, complete, dryRun, keyDestroyed: hasKey });
      return { status: 200, body: { ...outcome, ...request } };
    }
    const requested = isTwo ? { requestedMs: await requireSecondCredential(services, caller, body) } : {};
    const composed = (erasureId: string, outcome: ErasureOutcome) =>
      ({
        status: 201,
        body: done(erasureId, outcome),
        headers: { location: `${basePath}/erasures/${erasureId}` },
      }) as const satisfies PlainAnswer;
    let attempt = 0;
    // meanwhile another event about the subject may be recorded, or another request may erase the same
    return untilStored('what is to be erased', async () => {
      const found = await findTargets(services, caller, body);
      const outcome = outcomeOf(found, { destroysKey: ++attempt < attempts });
      const { targets, keyDestroyed } = outcome;
      if (targets.length === 0 && !keyDestroyed) return { status: 200 as const, body: done(null, outcome) };
      const erasing = erase(services, {
        project: caller.project,
        asking: { caller, scopes: [scope] },
        targets,
        reasonCode,
        ...requested,
        ...(found.subject === undefined ? {} : { subject: found.subject, destroysKey: keyDestroyed }),
        kept: (erasureId) => idempotencyWrite(idempotency, composed(erasureId, outcome)),
      });
      const erased = await unlessOvertaken(erasing);
      if (erased === null) return null;
      return 'replayed' in erased ? erased : composed(erased.erasureId, outcome);
    });
  },

  async listErasures({ query, caller }, services) {
    const { projectId } = caller.project;
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'erasures', projectId, filters: {} },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: { after?: number; limit: number }) =>
        services.store.leavesOf(projectId, { type: 'gov.erasure/1' }, { ...page, order: 'desc' }),
      position: ({ index }) => index,
    });
    return { status: 200, body: { data: rows.map((leaf) => summaryOf(leaf)), nextCursor } };
  },

  async getErasure({ params, caller }, { store }) {
    const leaf = await store.leafOf(caller.project.projectId, 'gov.erasure/1', params.erasureId);
    if (leaf === null) throw notFound('erasure');
    const { targets } = recordOf(leaf);
    const body: ErasureWhole = {
      ...summaryOf(leaf),
      targets: targets.map(({ index, digests }) => ({ sequence: index, digests: [...digests] })),
    };
    return { status: 200, body };
  },
};

/** The last attempt keeps the key of a subject about whom new events keep arriving. */
const attempts = 3;

interface ErasureOutcome extends Pick<ErasureDone, 'complete' | 'dryRun' | 'keyDestroyed'> {
  readonly targets: readonly ErasureTarget[];
}

/** The targets without destroying the key; the client asks again where the subject still has one. */
function outcomeOf(
  found: ErasureTargets,
  { destroysKey }: { readonly destroysKey: boolean },
): ErasureOutcome {
  const { targets, complete, hasKey = false } = found;
  const keyDestroyed = found.destroysKey === true && destroysKey;
  return { targets, complete: complete && (keyDestroyed || !hasKey), dryRun: false, keyDestroyed };
}

const done = (erasureId: string | null, { targets, ...outcome }: ErasureOutcome): ErasureDone => ({
  erasureId,
  ...counted(targets),
  ...outcome,
});

const counted = (targets: readonly ErasureTarget[]) => ({
  leaves: targets.length,
  fields: targets.reduce((sum, { digests }) => sum + digests.length, 0),
});

function recordOf(leaf: Leaf) {
  const erasure = readErasure(leaf.record);
  if (erasure === null)
    throw new GovError('STORAGE_FAULT', `expected an erasure at leaf ${leaf.index}, got another leaf`);
  return erasure;
}

function summaryOf(leaf: Leaf): Erasure {
  const { erasureId, reasonCode, requestedAt, executedAt, keyDestroyed, targets } = recordOf(leaf);
  const times = { requestedAt, executedAt };
  return { erasureId, sequence: leaf.index, reasonCode, ...times, keyDestroyed, ...counted(targets) };
}
