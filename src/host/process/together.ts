/** Several background tasks as one. Proven by `test/plane/serve/background.test.ts`. */
import type { Background } from './run.ts';

/** They start in this order, and stop at the same time. */
export const together = (...parts: readonly Background[]): Background => ({
  start: () => {
    for (const part of parts) part.start();
  },
  stop: async () => {
    await Promise.all(parts.map((part) => part.stop()));
  },
  metrics: () => parts.flatMap((part) => part.metrics?.() ?? []),
});
