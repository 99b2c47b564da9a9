/**
 * Flights and reservations, as the tools of a run show them.
 */

/** A flight in a search result. A flight on a reservation has no seats. */
export interface Flight {
  readonly flight_number: string;
  readonly date: string;
  readonly origin: string;
  readonly destination: string;
  readonly available_seats?: Readonly<Record<string, number>>;
}

export interface Reservation {
  readonly reservation_id: string;
  readonly user_id: string;
  readonly origin: string;
  readonly destination: string;
  readonly flight_type: 'one_way' | 'round_trip';
  readonly cabin: string;
  readonly flights: readonly { flight_number: string; date: string; origin: string; destination: string }[];
  readonly passengers: readonly unknown[];
  readonly payment_history: readonly { readonly payment_id: string }[];
  readonly created_at: string;
  readonly total_baggages: number;
  readonly insurance: 'yes' | 'no';
  readonly status?: string;
}
