/**
 * Policy inputs from a recorded run. A policy sees only its input. Each input therefore has the tool, its arguments, and
 * everything that the agent saw in that run *before* the call: results of tools and words of the customer. It uses no
 * model, no later message and no database, so the same run always gives the same facts.
 *
 * | member | from |
 * |---|---|
 * | `seen.customer` | the last shown profile of the customer in the call; absent if none was shown |
 * | `seen.reservation` | the last shown state of the reservation in the call, from any tool |
 * | `seen.payments` | ids of all shown means of payment, from profiles and reservations |
 * | `seen.records` | how many profiles and reservations were shown |
 * | `said.yes` | the customer's last message has a word of consent and answers the agent |
 * | `said.customerId` | the customer has said the customer id of the call |
 * | `said.topics` | topics of the customer's words (`words.ts`) |
 * | `call` | counts and comparisons of the arguments with shown records (`call.ts`) |
 */
import { type CallFacts, callFacts } from './call.ts';
import type { Flight } from './reservation.ts';
import type { Message, Run, Values } from './recording.ts';
import { saysYes, topicsOf } from './words.ts';
import type { Reservation } from './reservation.ts';

/** The time in the recorded world, from the airline's rules. It never changes. */
export const now = '2024-05-15T15:00:00';

interface Profile {
  readonly membership: string;
  readonly payment_methods: Readonly<Record<string, unknown>>;
}

/** A tool call as the policies get it, with its result in the recording. */
export interface Call {
  readonly runId: string;
  /** Position among the calls of its run, from 1. */
  readonly number: number;
  readonly tool: string;
  readonly arguments: Values;
  readonly context: Values;
  /** The recorded result began with `Error`: the airline's own system refused. */
  readonly failed: boolean;
}

/** Everything shown and said before a message. */
class Memory {
  readonly profiles = new Map<string, Profile>();
  readonly reservations = new Map<string, Reservation>();
  readonly changed = new Set<string>();
  readonly flights = new Map<string, Flight>();
  readonly payments = new Set<string>();
  /** Calls that the airline's own system refused since the customer's last message. */
  refused: { readonly tool: string; readonly args: Values }[] = [];
  customerWords = '';
  yes = false;
  #isAnswer = false;

  say({ role, content }: Message): void {
    const text = content ?? '';
    if (role === 'user') {
      this.customerWords += `${text}\n`;
      this.refused = [];
      this.yes = this.#isAnswer && saysYes(text);
    } else if (text !== '') this.#isAnswer = true;
  }

  /** Stores the result of a tool. */
  show(tool: string, args: Values, answer: string): void {
    if (answer.startsWith('Error')) this.refused.push({ tool, args });
    if (!/^[[{]/.test(answer)) return;
    const value = JSON.parse(answer) as unknown;
    if (tool === 'get_user_details') {
      const profile = value as Profile;
      this.profiles.set(String(args['user_id']), profile);
      for (const id of Object.keys(profile.payment_methods)) this.payments.add(id);
    } else if (tool.startsWith('search_')) {
      // results for direct flights omit the requested date
      const date = String(args['date']);
      for (const flight of (value as readonly Flight[]).flat())
        this.#flight({ ...flight, date: flight.date ?? date });
    } else if (tool.includes('reservation')) {
      const reservation = value as Reservation;
      // the result of a change of flights still has the old cabin
      const cabin = tool === 'update_reservation_flights' ? String(args['cabin']) : reservation.cabin;
      this.#reservation({ ...reservation, cabin });
      if (tool !== 'get_reservation_details') this.changed.add(reservation.reservation_id);
    }
  }

  #flight(flight: Flight): void {
    this.flights.set(`${flight.flight_number} ${flight.date}`, flight);
    this.flights.set(flight.flight_number, flight);
  }

  #reservation(reservation: Reservation): void {
    this.reservations.set(reservation.reservation_id, reservation);
    for (const { payment_id: id } of reservation.payment_history) this.payments.add(id);
    for (const flight of reservation.flights) {
      if (!this.flights.has(flight.flight_number)) this.flights.set(flight.flight_number, flight);
    }
  }
}

/** Every tool call of a run with its policy input, in order. */
export function callsOf({ runId, messages }: Run): Call[] {
  const memory = new Memory();
  const calls: Call[] = [];
  for (const [at, message] of messages.entries()) {
    const asked = message.tool_calls?.[0]?.function;
    if (asked === undefined) {
      memory.say(message);
      continue;
    }
    const args = JSON.parse(asked.arguments) as Values;
    const answer = messages[at + 1]?.content ?? '';
    calls.push({
      runId,
      number: calls.length + 1,
      tool: asked.name,
      arguments: args,
      context: contextOf(memory, asked.name, { args, spokeBeside: (message.content ?? '') !== '' }),
      failed: answer.startsWith('Error'),
    });
    memory.show(asked.name, args, answer);
  }
  return calls;
}

function contextOf(
  memory: Memory,
  tool: string,
  { args, spokeBeside }: { readonly args: Values; readonly spokeBeside: boolean },
): Values {
  const reservation = memory.reservations.get(String(args['reservation_id']));
  const customerId = (args['user_id'] as string | undefined) ?? reservation?.user_id;
  const profile = customerId === undefined ? undefined : memory.profiles.get(customerId);
  return {
    now,
    seen: {
      ...(profile === undefined ? {} : { customer: customerFacts(profile) }),
      ...(reservation === undefined ? {} : { reservation: reservationFacts(reservation) }),
      payments: [...memory.payments],
      records: memory.profiles.size + memory.reservations.size,
    },
    said: {
      yes: memory.yes,
      ...(customerId === undefined ? {} : { customerId: memory.customerWords.includes(customerId) }),
      topics: topicsOf(memory.customerWords),
    },
    call: {
      spokeBeside,
      ...callFacts(tool, args, { ...memory, reservation, customerId }),
    } satisfies CallFacts & Values,
  };
}

const customerFacts = ({ membership, payment_methods: payments }: Profile): Values => ({
  membership,
  payments: Object.keys(payments),
});

function reservationFacts(reservation: Reservation): Values {
  const { payment_history: _, flights, passengers, ...facts } = reservation;
  return {
    ...facts,
    passengers: passengers.length,
    hoursSinceBooking: (Date.parse(`${now}Z`) - Date.parse(`${reservation.created_at}Z`)) / 3_600_000,
    firstDeparture: flights.map(({ date }) => date).toSorted()[0],
  };
}
