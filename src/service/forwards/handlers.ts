/**
 * Handler of forward targets. A target belongs to the operator, so a service shows tenants neither its address nor its
 * errors. Proven by `test/service/scenarios.test.ts` and `test/plane/serve/forwards.long.test.ts`.
 */
import type { Forward } from '../../contract/forwards.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Handlers } from '../port/handler.ts';
import type { ForwardStatus } from '../hosting/forwards.ts';

export const forwards: Pick<Handlers, 'listForwards'> = {
  async listForwards({ caller }, { forwards: targets, hosting }) {
    const statuses = (await targets?.statuses(caller.project.projectId)) ?? [];
    const data = statuses.map((status) => shown(status, hosting === null));
    return { status: 200, body: { data, nextCursor: null } };
  },
};

const time = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));

function shown(status: ForwardStatus, isOwn: boolean): Forward {
  const { behindSinceMs, lastDeliveredMs, lastErrorMs, retryMs, gaps, to, lastError, ...same } = status;
  return {
    ...same,
    to: isOwn ? to : null,
    behindSince: time(behindSinceMs),
    lastDeliveredAt: time(lastDeliveredMs),
    lastError: isOwn ? lastError : null,
    lastErrorAt: time(lastErrorMs),
    retryAt: time(retryMs),
    gaps: gaps.map(({ from, to, atMs }) => ({ from, to, at: formatTimestamp(atMs) })),
  };
}
