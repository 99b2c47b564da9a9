/**
 * The label of a call, from the authors of the tasks. They wrote down all necessary calls that change
 * something, and no others. They did not write down which rule a wrong call breaks. A label is therefore
 * evidence about the outcome, not about a broken rule: see docs/tutorials/airline-rules.md.
 */
import { objectOf } from './call.ts';
import type { Action, Values } from './recording.ts';

/** Tools that change the airline's records. All others read, calculate, or hand over to a person. */
export const writingTools: ReadonlySet<string> = new Set([
  'book_reservation',
  'cancel_reservation',
  'send_certificate',
  'update_reservation_baggages',
  'update_reservation_flights',
  'update_reservation_passengers',
]);

export const labels = ['as expected', 'other details', 'not expected'] as const;
/** An expected call, the expected tool and reservation or customer with other details, or neither. */
export type Label = (typeof labels)[number];

export function labelOf(tool: string, args: Values, truth: readonly Action[]): Label {
  const same = truth.filter(({ name, kwargs }) => name === tool && objectOf(kwargs) === objectOf(args));
  if (same.length === 0) return 'not expected';
  return same.some(({ kwargs }) => comparable(kwargs) === comparable(args)) ? 'as expected' : 'other details';
}

/**
 * Arguments without the parts that tools ignore: the order of members, and all of a flight except number and
 * date.
 */
function comparable(args: Values): string {
  const flights = args['flights'] as readonly Values[] | undefined;
  const named = flights?.map(({ flight_number, date }) => ({ flight_number, date }));
  return JSON.stringify({ ...args, ...(named === undefined ? {} : { flights: named }) }, sorted);
}

const sorted = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;
