/**
 * Health (contract N8): whether the event loop turns, and whether a write now would be durable. Reasons and
 * version are for holders of a credential. Proven by `test/service/scenarios.test.ts` and `test/service/log/altered-tenants.test.ts`.
 */
import { formatTimestamp } from '../core/time.ts';
import type { Caller, Handlers } from './call/handler.ts';
import type { Services } from './dependencies.ts';

export const health: Pick<Handlers, 'getHealth' | 'getLiveness' | 'getReadiness'> = {
  async getHealth({ caller }, services) {
    const reasons = [...(await reasonsOf(services)), ...(services.degraded?.() ?? [])];
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

/** What is no reason not to write: an altered leaf, a clock that is off, a log of which nothing is signed any more. */
const isNoTrouble = (reason: string): boolean =>
  isViolation(reason) || isUnsigned(reason) || reason.startsWith('clock_skew:');

const isUnsigned = (reason: string): boolean => reason.startsWith('signing_refused:');

const isViolation = (reason: string): boolean => reason.startsWith('integrity_violation:');

/** Whoever calls a service learns of an altered leaf where they read it; of one of another tenant, not which. */
function withoutTenant(reason: string): string {
  if (isViolation(reason))
    return "integrity_violation: a stored record is not what was logged; the operator's log says where";
  return isUnsigned(reason)
    ? "signing_refused: a log lacks what was signed of it; the operator's log says which"
    : reason;
}
