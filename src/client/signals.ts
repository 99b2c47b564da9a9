/** Joins signals, also in runtimes without `AbortSignal.any`. Tested by `test/client/web/edge.test.ts`. */

/** Returns a signal that aborts with the first of these, with its reason. */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const [only] = signals;
  if (signals.length === 1 && only !== undefined) return only;
  if (typeof AbortSignal.any === 'function') return AbortSignal.any([...signals]);
  const joined = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) joined.abort(signal.reason);
    signal.addEventListener('abort', () => joined.abort(signal.reason), {
      once: true,
      signal: joined.signal,
    });
  }
  return joined.signal;
}
