/** The state of `gov events tail --tui`. Tested by `test/cli/screens/events.test.ts`. */
import type { AuditEvent } from '../../../contract/events.ts';
import type { KeyAction } from '../keys.ts';
import {
  browsed,
  common,
  filterOf,
  matches,
  reduceList,
  refitted,
  type Common,
  type CommonEvent,
} from '../model.ts';
import { partyName } from '../../runs/party.ts';

/** Events that stay in memory and on the screen; older ones are in the log. */
export const eventsKept = 2000;

export interface EventsState extends Common {
  readonly target: string;
  readonly connection: string;
  readonly isConnected: boolean;
  /** The newest last. */
  readonly events: readonly AuditEvent[];
  /** Events received since the start. */
  readonly received: number;
  /** What a paused screen shows; null: it follows the stream. */
  readonly still: readonly AuditEvent[] | null;
  /** `received` when the screen was paused. */
  readonly stillAt: number;
  readonly isErrorsOnly: boolean;
  /** The cursor stays on the newest event. */
  readonly isFollowing: boolean;
  readonly opened: AuditEvent | null;
}

export type EventsEvent =
  | CommonEvent
  | { readonly kind: 'events'; readonly events: readonly AuditEvent[] }
  | { readonly kind: 'connection'; readonly text: string; readonly isConnected: boolean };

export const eventsState = (target: string, nowMs: number): EventsState => ({
  ...common,
  nowMs,
  target,
  connection: 'connecting',
  isConnected: false,
  events: [],
  received: 0,
  still: null,
  stillAt: 0,
  isErrorsOnly: false,
  isFollowing: true,
  opened: null,
});

const badTypes = /blocked|error|denied|rejected|exceeded|failed|violation/;

export const isBad = ({ eventType, metadata }: AuditEvent): boolean =>
  badTypes.test(eventType) || metadata['decision'] === 'deny' || metadata['status'] === 'denied';

/** The decision that an event records, or null. */
export function decisionOf({ metadata }: AuditEvent): string | null {
  const said = [
    metadata['decision'],
    metadata['evaluationId'] === undefined ? undefined : metadata['status'],
  ];
  return said.find((each) => typeof each === 'string') ?? null;
}

export function shownEvents(state: EventsState): readonly AuditEvent[] {
  const filter = filterOf(state);
  const all = state.still ?? state.events;
  if (filter === '' && !state.isErrorsOnly) return all;
  return all.filter((event) => (!state.isErrorsOnly || isBad(event)) && matches(textOf(event), filter));
}

const textOf = (event: AuditEvent): string =>
  `${event.runId} ${event.eventType} ${partyName(event.actor)} ${partyName(event.resource)} ${event.action} ${decisionOf(event) ?? ''}`;

const screen = {
  ids: (state: EventsState) => shownEvents(state).map(({ eventId }) => eventId),
  isText: ({ opened }: EventsState) => opened !== null,
  key,
};

export function reduceEvents(state: EventsState, event: EventsEvent): EventsState {
  const next = reduced(state, event);
  const cursor = Math.max(0, shownEvents(next).length - 1);
  return next.isFollowing && next.list.cursor !== cursor ? { ...next, list: { ...next.list, cursor } } : next;
}

function reduced(state: EventsState, event: EventsEvent): EventsState {
  switch (event.kind) {
    case 'events': {
      const events = [...state.events, ...event.events].slice(-eventsKept);
      const received = state.received + event.events.length;
      return refitted(state, { ...state, events, received }, screen);
    }
    case 'connection':
      return { ...state, connection: event.text, isConnected: event.isConnected };
    default:
      return reduceList(state, event, screen);
  }
}

function key(state: EventsState, action: KeyAction): EventsState {
  switch (action) {
    case 'pause': {
      const still = state.still === null ? state.events : null;
      return refitted(state, { ...state, still, stillAt: state.received }, screen);
    }
    case 'errors only':
      return refitted(state, { ...state, isErrorsOnly: !state.isErrorsOnly }, screen);
    case 'open':
      return { ...state, opened: state.opened ?? shownEvents(state)[state.list.cursor] ?? null, scroll: 0 };
    case 'back':
      return state.opened === null ? browsed(state, action, screen) : { ...state, opened: null };
    default: {
      const next = browsed(state, action, screen);
      if (next.list === state.list) return next;
      return { ...next, isFollowing: next.list.cursor >= shownEvents(next).length - 1 };
    }
  }
}
