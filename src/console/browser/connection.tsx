/**
 * Whether the server answers. A page that nobody clicks on notices within ten seconds that the server is gone, says so, and
 * asks until it answers again. Tested by `test/console/restart.long.test.ts`.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { GovApiError, GovNetworkError } from '../../client/errors.ts';
import { clientOf } from './api.ts';

const quietMs = 10_000;
const lostMs = 1_500;
const answerMs = 5_000;

const lostEvent = 'gov-lost';
const backEvent = 'gov-back';

/** A call found the server gone: asks at once. Returns whether that is why it failed. */
export function reportLoss(error: unknown): boolean {
  const isLoss = error instanceof GovNetworkError;
  if (isLoss) dispatchEvent(new Event(lostEvent));
  return isLoss;
}

let isGone = false;

/** Whether the line says that the connection is lost: then only the line asks for the server. */
export const isLost = (): boolean => isGone;

/** Calls `listener` each time that the server answers again, after it did not. */
export function useBack(listener: () => void): void {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => {
    const back = (): void => latest.current();
    addEventListener(backEvent, back);
    return () => removeEventListener(backEvent, back);
  }, []);
}

/** Liveness needs no session, and does not keep one open. */
async function isThere(signal: AbortSignal): Promise<boolean> {
  try {
    await clientOf('production', null).getLiveness({ signal, timeoutMs: answerMs });
    return true;
  } catch (error) {
    // a proxy answers 502 while the server is gone; a busy server answers with a code of its own
    return error instanceof GovApiError && !error.code.startsWith('HTTP_');
  }
}

/** A line above the page while the server does not answer. */
export function ConnectionLine() {
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    let [wasLost, isAsking] = [false, false];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      if (isAsking) return;
      clearTimeout(timer);
      if (document.visibilityState === 'visible') {
        isAsking = true;
        const isBack = await isThere(signal);
        isAsking = false;
        if (signal.aborted) return;
        setLost((isGone = !isBack));
        if (isBack && wasLost) dispatchEvent(new Event(backEvent));
        wasLost = isGone;
      }
      timer = setTimeout(() => void ask(), wasLost ? lostMs : quietMs);
    };
    const now = (): void => void ask();
    for (const name of [lostEvent, 'online', 'offline']) addEventListener(name, now, { signal });
    document.addEventListener('visibilitychange', now, { signal });
    timer = setTimeout(now, quietMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, []);
  return (
    <div class="connection" role="status">
      {isLost && <p>The connection is lost. This page goes on by itself when the server answers again.</p>}
    </div>
  );
}
