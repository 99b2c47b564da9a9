/** An event of an OTLP signal before it is ordered by time. */
import type { Draft, Source } from '../run.ts';

export type Timed = Draft & {
  readonly key: string;
  readonly metadata: Source;
  /** Order within one millisecond: containers, calls, results, models. */
  readonly rank: number;
};

/** Returns the attributes that have no member of their own in the event. */
export function otherAttributes(attributes: Source, used: RegExp): Source | undefined {
  const members = Object.entries(attributes).filter(
    ([name, value]) => !used.test(name) && value !== undefined && value !== '',
  );
  return members.length === 0 ? undefined : Object.fromEntries(members);
}
