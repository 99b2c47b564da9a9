/**
 * Loads data for a page: one state for the first load, the data, and an error. It can repeat while the page is
 * visible, and keeps the last data where a repeat fails. Tested by `test/console/shell.test.ts`.
 */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { useBack } from './connection.tsx';
import { repeatWhileUsed } from './repeat.ts';

export interface LoadResult<Value> {
  /** Undefined until the first load has succeeded. */
  readonly data: Value | undefined;
  /** Why the last load failed; null once one succeeds. */
  readonly error: unknown;
  readonly isLoading: boolean;
  reload(): void;
}

interface LoadOptions {
  /**
   * Milliseconds between repeats; absent: loads once. A page that is hidden, or that nobody uses, does not repeat, so that
   * its session can end.
   */
  readonly everyMs?: number | undefined;
}

/**
 * `load` gets a signal that ends when the page leaves or `key` changes. `key` names everything that `load` depends on,
 * such as `approvals ${status}`.
 */
export function useLoad<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  key: string,
  { everyMs }: LoadOptions = {},
): LoadResult<Value> {
  const [state, setState] = useState<{
    readonly key: string;
    readonly data: Value | undefined;
    readonly error: unknown;
    readonly isLoading: boolean;
  }>({ key, data: undefined, error: null, isLoading: true });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const run = async (): Promise<void> => {
      try {
        const data = await latest.current(signal);
        if (!signal.aborted) setState({ key, data, error: null, isLoading: false });
      } catch (error) {
        if (signal.aborted) return;
        setState((before) => ({
          key,
          data: before.key === key ? before.data : undefined,
          error,
          isLoading: false,
        }));
      }
    };
    const begin = async (): Promise<void> => {
      await run();
      if (everyMs !== undefined && !signal.aborted) repeatWhileUsed(run, everyMs, signal);
    };
    void begin();
    return () => stop.abort();
  }, [key, round, everyMs]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  useBack(() => state.error !== null && reload());
  const isCurrent = state.key === key;
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : null,
    isLoading: !isCurrent || state.isLoading,
    reload,
  };
}
