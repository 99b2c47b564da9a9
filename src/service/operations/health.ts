/**
 * Handlers of health (contract N8): whether the event loop runs, and whether a write now would be durable.
 * Only callers with a credential get reasons and version. Proven by `test/service/scenarios.test.ts` and
 * `test/service/log/altered-tenants.test.ts`.
 */
import { formatTimestamp } from '../../core/time.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers } from '../port/handler.ts';
import type { Services } from '../port/services.ts';
import { silentSources } from '../events/silence.ts';
import { projectScrubReasons } from './reasons.ts';

export const health: Pick<Handlers, 'getHealth' | 'getLiveness' | 'getReadiness'> = {
  async getHealth({ caller }, services) {
    const projectId = caller?.project.projectId ?? services.planeProject;
    const silent = projectId === undefined ? [] : await silentSources(services, projectId);
    const found = await reasonsOf(services);
    const scrubbed = projectId === undefined ? [] : await projectScrubReasons(services, projectId);
    const reasons = [
      ...found,
      ...scrubbed.filter((reason) => !isViolation(reason) || !found.some(isViolation)),
      ...(services.degraded?.() ?? []),
      ...silent,
    ];
    const { writable } = services.store.condition();
    if (!writable) return { status: 503, body: report('unavailable', { caller, services, reasons }) };
    const status = reasons.length === 0 ? 'ok' : 'degraded';
    return { status: 200, body: report(status, { caller, services, reasons }) };
  },

  async getLiveness(_call, { now }) {
    return { status: 200, body: { status: 'ok', time: formatTimestamp(now()) } };
  },

  async getReadiness({ caller }, services) {
    const reasons = (await reasonsOf(services)).filter((reason) => !isNoTrouble(reason));
    if (reasons.length === 0) {
      const shown = services.degraded?.() ?? [];
      return { status: 200, body: report('ok', { caller, services, reasons: shown }) };
    }
    return { status: 503, body: report('unavailable', { caller, services, reasons }) };
  },
};

function report<Status extends 'ok' | 'degraded' | 'unavailable'>(
  status: Status,
  details: { caller: Caller | null; services: Services; reasons: readonly string[] },
) {
  const { caller, services, reasons } = details;
  const known = caller === null ? {} : { version: services.version, reasons: [...reasons] };
  return { status, time: formatTimestamp(services.now()), ...known };
}

async function reasonsOf({ store, checkpoints, probe, hosting }: Services): Promise<readonly string[]> {
  const { reasons } = store.condition();
  const all = [...reasons, ...checkpoints.refusals().map((refusal) => `signing_refused: ${refusal}`)];
  const told = hosting === null ? all : [...new Set(all.map(withoutTenant))];
  return [...told, ...(await probe()), ...(checkpoints.fresh() ? [] : ['checkpoint_stale'])];
}

/**
 * Whether a reason leaves writes safe: an altered leaf, a skewed clock, or a log that is not signed any more.
 */
const isNoTrouble = (reason: string): boolean =>
  isViolation(reason) || isUnsigned(reason) || reason.startsWith('clock_skew:');

const isUnsigned = (reason: string): boolean => reason.startsWith('signing_refused:');

const isViolation = (reason: string): boolean => reason.startsWith('integrity_violation:');

/**
 * Removes the names of tenants from a reason. A caller gets details of an altered leaf where it reads the
 * leaf.
 */
function withoutTenant(reason: string): string {
  if (isViolation(reason))
    return "integrity_violation: a stored record differs from the log; the operator's log says where";
  return isUnsigned(reason)
    ? "signing_refused: a log lacks signed leaves; the operator's log says which"
    : reason;
}
