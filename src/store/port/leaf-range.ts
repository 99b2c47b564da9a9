/** The leaves that an answer is about. Proven by `test/store/suite/log/paths.ts`. */
import type { LeafRange } from './log.ts';
import type { LeafOutcome } from './request.ts';

/**
 * The leaves that a request appended; of one that only repeats earlier events, those, if they are consecutive. Null for
 * other requests.
 */
export function rangeOf(assigned: readonly LeafOutcome[]): LeafRange | null {
  const appended = assigned.filter(({ outcome }) => outcome === 'appended');
  const found = (appended.length > 0 ? appended : assigned).flatMap((each) =>
    'index' in each ? [each.index] : [],
  );
  const [first] = found;
  const last = found.at(-1);
  if (first === undefined || last === undefined) return null;
  return found.every((index, at) => index === first + at) ? { first, last } : null;
}
