/**
 * Waits for the decision on an approval, by requests that the server holds (contract O30). A server that holds no more
 * requests answers at once, and is asked again after `shortestMs`. Tested by `test/client/governed.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { pause } from '../retry.ts';

const shortestMs = 1000;

/**
 * Returns the status when it is no longer `pending`, or at `untilMs` (Unix milliseconds). Asks at least once. `ask` sends
 * one request, which the server may hold for the given time; its errors end the wait.
 */
export async function decidedApproval<Status>(
  ask: (waitSeconds: number) => Promise<Status>,
  { untilMs, signal }: { readonly untilMs: number; readonly signal?: AbortSignal | undefined },
): Promise<Status> {
  for (;;) {
    const askedMs = Date.now();
    const leftSeconds = Math.max(0, Math.ceil((untilMs - askedMs) / 1000));
    const status = await ask(Math.min(leftSeconds, limits.holdWaitSeconds));
    const nowMs = Date.now();
    if (status !== 'pending' || nowMs >= untilMs) return status;
    const waitMs = Math.min(askedMs + shortestMs, untilMs) - nowMs;
    if (waitMs > 0) await pause(waitMs, signal);
  }
}
