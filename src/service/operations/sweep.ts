/**
 * Deletes expired stored answers and job requests (contract D6, H5), at the start and every ten minutes.
 * Proven by `test/http/call/idempotency.engines.test.ts`.
 */
import { polling } from '../call/poller.ts';
import type { Services } from '../port/services.ts';

const everyMs = 600_000;

/** The returned function stops it. */
export const startSweeping = ({ store, now, log }: Pick<Services, 'store' | 'now' | 'log'>) =>
  polling({
    everyMs,
    poll: () => store.sweep(now()),
    log,
    failed: 'expired rows could not be deleted yet',
    level: 'warn',
  });
