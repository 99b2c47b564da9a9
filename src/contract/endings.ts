/**
 * How a call ended (contract O17). A source says it in its own words; each keeps its meaning, so that a reader does not take
 * a call that nobody ran, or that nobody knows the end of, for one that failed. `metadata.outcome` of a `tool.result` has it.
 */
export const endings = [
  /** A person refused it, and nothing ran. */
  'refused',
  /** A policy or a rule of the program refused it, and nothing ran. */
  'denied',
  'timed_out',
  /** Somebody stopped it. */
  'interrupted',
  'error',
  /** No answer came, and none will. */
  'unanswered',
  /** The source says that it ended well. */
  'ok',
  /** It ended, and the source does not say how. */
  'unknown',
] as const;
export type Ending = (typeof endings)[number];

/** What the MCP proxy of gov wrote before these words. */
const older: Readonly<Record<string, Ending>> = { cancelled: 'interrupted', lost: 'unanswered' };

/** Returns the ending that an event states; undefined for none, or for another word. */
export function endingOf(outcome: unknown): Ending | undefined {
  if (typeof outcome !== 'string') return undefined;
  return Object.hasOwn(older, outcome) ? older[outcome] : endings.find((each) => each === outcome);
}

/** Whether a call did not do its work to the end, or not at all. */
export const isFailure = (ending: Ending | undefined): boolean =>
  ending !== undefined && ending !== 'ok' && ending !== 'unknown';
