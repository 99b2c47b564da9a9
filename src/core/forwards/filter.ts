/**
 * Which records a target wants, by event type and by decision. Proven by `test/core/forwards/filter.test.ts`.
 */
import type { DecisionWord, ForwardRecord } from './record.ts';

export interface ForwardFilter {
  /** Event types, or their start followed by `*`, such as `tool.*`. Absent: all. */
  readonly eventTypes?: readonly string[] | undefined;
  /** Only records with one of these decisions. Absent: all. */
  readonly decisions?: readonly DecisionWord[] | undefined;
}

/** A record passes if it fits each filter that is given. */
export function isWanted(
  { eventType, leafType, decision }: ForwardRecord,
  { eventTypes, decisions }: ForwardFilter,
): boolean {
  if (decisions !== undefined && (decision === null || !decisions.includes(decision))) return false;
  return eventTypes === undefined || eventTypes.some((each) => fits(each, eventType) || each === leafType);
}

const fits = (pattern: string, eventType: string): boolean =>
  pattern.endsWith('*') ? eventType.startsWith(pattern.slice(0, -1)) : eventType === pattern;
