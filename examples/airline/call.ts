/**
 * Facts about the arguments of a call, compared with shown records: counts and comparisons that conditions
 * cannot compute.
 */
import type { Values } from './recording.ts';
import type { Reservation } from './reservation.ts';
import type { Flight } from './reservation.ts';

interface Shown {
  readonly refused: readonly { readonly tool: string; readonly args: Values }[];
  readonly reservations: ReadonlyMap<string, Reservation>;
  readonly changed: ReadonlySet<string>;
  /** By number and date, and by number alone: the route of a number is the same on all days. */
  readonly flights: ReadonlyMap<string, Flight>;
  readonly reservation: Reservation | undefined;
  readonly customerId: string | undefined;
}

type Segment = Readonly<{ flight_number: string; date: string }>;

/** A member is absent where the shown records do not contain it. */
export interface CallFacts {
  /**
   * The airline refused the same tool since the customer's last message, and the arguments are now different.
   */
  readonly altered?: boolean;
  /** Means of payment in the arguments, and the number of each kind, by the prefix of their ids. */
  readonly payments?: readonly string[];
  readonly certificates?: number;
  readonly creditCards?: number;
  readonly giftCards?: number;
  /** Whether the flights are those of the reservation. */
  readonly sameFlights?: boolean;
  /**
   * Flights that are not on the reservation, with free seats in the cabin of the call where a search showed
   * them.
   */
  readonly newFlights?: readonly Values[];
  /** Origin, destination and stops of the journey. Absent if a flight was never shown. */
  readonly from?: string;
  readonly to?: string;
  readonly stops?: readonly string[];
  /** Reservations of the customer that may justify compensation. */
  readonly grounds?: readonly Values[];
}

export function callFacts(tool: string, args: Values, shown: Shown): CallFacts {
  const payments = paymentsOf(args);
  const flights = args['flights'] as readonly Segment[] | undefined;
  const before = shown.refused.findLast(
    (refused) => refused.tool === tool && objectOf(refused.args) === objectOf(args),
  );
  return {
    altered: before !== undefined && JSON.stringify(before.args) !== JSON.stringify(args),
    ...(payments.length === 0 ? {} : paymentFacts(payments)),
    ...(flights === undefined ? {} : flightFacts(flights, String(args['cabin']), shown)),
    ...(tool === 'send_certificate' ? { grounds: groundsOf(shown) } : {}),
  };
}

/** The subject of a call: a reservation, or a customer. */
export const objectOf = (args: Values): string => String(args['reservation_id'] ?? args['user_id']);

function paymentsOf(args: Values): string[] {
  const methods = (args['payment_methods'] ?? []) as readonly { readonly payment_id: string }[];
  const single = args['payment_id'] as string | undefined;
  return [...methods.map(({ payment_id: id }) => id), ...(single === undefined ? [] : [single])];
}

function paymentFacts(payments: readonly string[]): CallFacts {
  const count = (kind: string): number => payments.filter((id) => id.startsWith(kind)).length;
  return {
    payments,
    certificates: count('certificate_'),
    creditCards: count('credit_card_'),
    giftCards: count('gift_card_'),
  };
}

const nameOf = ({ flight_number: number, date }: Segment): string => `${number} ${date}`;

function flightFacts(flights: readonly Segment[], cabin: string, shown: Shown): CallFacts {
  const kept = new Set(shown.reservation?.flights.map(nameOf));
  const added = flights.filter((flight) => !kept.has(nameOf(flight)));
  return {
    ...(shown.reservation === undefined
      ? {}
      : { sameFlights: added.length === 0 && flights.length === kept.size }),
    newFlights: added.map((flight) => {
      const seats = shown.flights.get(nameOf(flight))?.available_seats?.[cabin];
      return { flight: nameOf(flight), ...(seats === undefined ? {} : { seats }) };
    }),
    ...routeOf(flights, shown),
  };
}

function routeOf(flights: readonly Segment[], shown: Shown): CallFacts {
  const known = flights.map(({ flight_number: number }) => shown.flights.get(number));
  const ends = known.filter((flight) => flight !== undefined);
  const [first, last] = [ends[0], ends.at(-1)];
  if (first === undefined || last === undefined || ends.length < flights.length) return {};
  return {
    from: first.origin,
    to: last.destination,
    stops: ends.slice(0, -1).map(({ destination }) => destination),
  };
}

function groundsOf({ reservations, changed, customerId }: Shown): Values[] {
  return [...reservations.values()]
    .filter(({ user_id: userId }) => userId === customerId)
    .map(({ reservation_id: id, passengers, cabin, insurance }) => ({
      reservation: id,
      passengers: passengers.length,
      cabin,
      insurance,
      changedHere: changed.has(id),
    }));
}
