/** A call that a button starts: busy while it runs, and its error until the next try. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Client } from '../../client/create.ts';
import { isOpen } from '../../contract/job-words.ts';

export interface Action {
  readonly isBusy: boolean;
  readonly error: unknown;
  /** Ignores a second start while the first runs. */
  run(work: (signal: AbortSignal) => Promise<unknown>): void;
}

/** `done`: called after each work that succeeds. */
export function useAction(done?: () => void): Action {
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly error: unknown }>({
    isBusy: false,
    error: null,
  });
  const stop = useRef<AbortController | null>(null);
  // the state is one rendering late: a second click may come before it
  const busy = useRef(false);
  useEffect(() => () => stop.current?.abort(), []);
  return {
    ...state,
    run(work) {
      if (busy.current) return;
      busy.current = true;
      const { signal } = (stop.current = new AbortController());
      setState({ isBusy: true, error: null });
      const end = (error: unknown): void => {
        if (signal.aborted) return;
        busy.current = false;
        setState({ isBusy: false, error });
      };
      const all = async (): Promise<void> => {
        await work(signal);
        done?.();
      };
      all().then(() => end(null), end);
    },
  };
}

/** Asks again until `isOver`: after 250 ms, then ever longer, at most 3 s. Rejects when the signal ends. */
export async function waitFor<Value>(
  ask: () => Promise<Value>,
  {
    isOver,
    seen,
    signal,
  }: {
    readonly isOver: (value: Value) => boolean;
    /** Gets each answer, for a line of progress. */
    readonly seen?: (value: Value) => void;
    readonly signal: AbortSignal;
  },
): Promise<Value> {
  for (let delayMs = 250; ; delayMs = Math.min(3000, delayMs * 1.5)) {
    const value = await ask();
    seen?.(value);
    if (isOver(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    signal.throwIfAborted();
  }
}

/** The job once it has ended. */
export const jobEnd = (client: Client, jobId: string, signal: AbortSignal) =>
  waitFor(async () => (await client.getJob({ params: { jobId }, signal })).body, {
    isOver: ({ status }) => !isOpen(status),
    signal,
  });
