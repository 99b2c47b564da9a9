/** An event of an OTLP signal before it is ordered by time. */
import { observationOf } from '../../coverage/report.ts';
import type { Draft, Source } from '../run.ts';

export type TimedDraft = Draft & {
  readonly key: string;
  readonly metadata: Source;
  /** Order within one millisecond: containers, calls, results, models. */
  readonly rank: number;
  /** Another span reports the same call or result, and this one is an observation of it. */
  readonly observes?: boolean;
};

/** Returns what a run records of an event: itself, or an observation. */
export const recorded = (event: TimedDraft): Draft =>
  event.observes === true ? observationOf(event) : event;

/** Returns the attributes that have no member of their own in the event. */
export function otherAttributes(attributes: Source, used: RegExp): Source | undefined {
  const members = Object.entries(attributes).filter(
    ([name, value]) => !used.test(name) && value !== undefined && value !== '',
  );
  return members.length === 0 ? undefined : Object.fromEntries(members);
}
