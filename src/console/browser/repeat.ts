/**
 * Repeats work while somebody uses the page. A page that is hidden, or that nobody used for half an hour, does not repeat, so
 * that its session can end. Tested by `test/console/refresh.test.ts`.
 */
import { useEffect, useRef } from 'preact/hooks';

const unusedAfterMs = 30 * 60_000;
const inputs = ['pointerdown', 'pointermove', 'keydown', 'visibilitychange'] as const;
let lastInputMs = 0;
for (const input of inputs) document.addEventListener(input, () => (lastInputMs = performance.now()));

const isUsed = (): boolean =>
  document.visibilityState === 'visible' && performance.now() - lastInputMs < unusedAfterMs;

/** Calls `listener` once, with the next input. */
function onUse(listener: () => void, ends: AbortSignal): void {
  const once = new AbortController();
  const used = (): void => {
    once.abort();
    listener();
  };
  const signal = AbortSignal.any([once.signal, ends]);
  for (const input of inputs) document.addEventListener(input, used, { signal });
}

/** Calls `work`, which must not reject, `everyMs` after now and after each end of it, until the signal ends. */
export function repeatWhileUsed(work: () => Promise<void>, everyMs: number, signal: AbortSignal): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const repeat = async (): Promise<void> => {
    if (!isUsed()) return onUse(() => void repeat(), signal);
    await work();
    if (!signal.aborted) wait();
  };
  const wait = (): void => {
    timer = setTimeout(() => void repeat(), everyMs);
  };
  wait();
  signal.addEventListener('abort', () => clearTimeout(timer));
}

/** Repeats `work` of the last rendering while the page shows it. */
export function useRepeat(work: () => Promise<void>, everyMs: number): void {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    const ends = new AbortController();
    repeatWhileUsed(() => latest.current(), everyMs, ends.signal);
    return () => ends.abort();
  }, [everyMs]);
}
