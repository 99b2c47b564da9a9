/** Runs what a state asks for, one request at a time for each. Tested by `test/cli/screens/effects.test.ts`. */
import { failureOf } from '../program/exit.ts';

interface Effects<Wanted, Loaded> {
  /** What the state asks for now; the same object until it changes. */
  readonly wanted: () => Wanted | null;
  readonly subscribe: (listener: () => void) => () => void;
  readonly load: (wanted: Wanted) => Promise<Loaded>;
  readonly loaded: (wanted: Wanted, loaded: Loaded) => void;
  readonly failed: (wanted: Wanted, why: string) => void;
}

/**
 * A result comes with its request, so that the reducer can drop one that is no longer wanted. Returns an end, which
 * resolves when the request on its way has its answer.
 */
export function runEffects<Wanted, Loaded>(effects: Effects<Wanted, Loaded>): () => Promise<void> {
  let running: Wanted | null = null;
  let answer = Promise.resolve();
  const check = (): void => {
    const wanted = effects.wanted();
    if (wanted === null || wanted === running) return;
    running = wanted;
    answer = effects.load(wanted).then(
      (loaded) => effects.loaded(wanted, loaded),
      (cause: unknown) => effects.failed(wanted, whyOf(cause)),
    );
  };
  check();
  const unsubscribe = effects.subscribe(check);
  return () => {
    unsubscribe();
    return answer;
  };
}

function whyOf(cause: unknown): string {
  const { message, hint } = failureOf(cause);
  return hint === undefined ? message : `${message}; ${hint}`;
}
