/** The state of `gov events tail --tui`. Tested by `test/cli/screens/events.test.ts`. */
import type { AuditEvent } from '../../../contract/events.ts';
import type { KeyAction } from '../keys.ts';
import {
  bodyRows,
  common,
  emptyList,
  filterOf,
  matches,
  moved,
  reduceCommon,
  scrolled,
  within,
  type Common,
  type CommonEvent,
  type List,
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
  readonly list: List;
  /** The cursor stays on the newest event. */
  readonly isFollowing: boolean;
  readonly opened: AuditEvent | null;
  readonly scroll: number;
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
  list: emptyList,
  isFollowing: true,
  opened: null,
  scroll: 0,
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
  const filter = filterOf(state, state.list);
  const all = state.still ?? state.events;
  if (filter === '' && !state.isErrorsOnly) return all;
  return all.filter((event) => (!state.isErrorsOnly || isBad(event)) && matches(textOf(event), filter));
}

const textOf = (event: AuditEvent): string =>
  `${event.runId} ${event.eventType} ${partyName(event.actor)} ${partyName(event.resource)} ${event.action} ${decisionOf(event) ?? ''}`;

export function reduceEvents(state: EventsState, event: EventsEvent): EventsState {
  switch (event.kind) {
    case 'events':
      return refitted(state, {
        ...state,
        events: [...state.events, ...event.events].slice(-eventsKept),
        received: state.received + event.events.length,
      });
    case 'connection':
      return { ...state, connection: event.text, isConnected: event.isConnected };
    default: {
      const next = reduceCommon(state, event) ?? reduceKey(state, event);
      return next.typing === state.typing ? next : refitted(state, next);
    }
  }
}

/** The cursor stays on its event, or follows the newest. */
function refitted(before: EventsState, next: EventsState): EventsState {
  const shown = shownEvents(next);
  if (next.isFollowing) return { ...next, list: { ...next.list, cursor: Math.max(0, shown.length - 1) } };
  const chosen = shownEvents(before)[before.list.cursor];
  const at = chosen === undefined ? -1 : shown.indexOf(chosen);
  return { ...next, list: within(at < 0 ? next.list : { ...next.list, cursor: at }, shown.length) };
}

function reduceKey(state: EventsState, event: CommonEvent): EventsState {
  if (event.kind !== 'key') return state;
  const { action } = event;
  if (state.typing !== null) {
    if (action !== 'open' && action !== 'back') return state;
    const filter = action === 'open' ? state.typing.text : '';
    return { ...state, typing: null, list: { ...state.list, filter } };
  }
  switch (action) {
    case 'pause':
      return refitted(state, {
        ...state,
        still: state.still === null ? state.events : null,
        stillAt: state.received,
      });
    case 'errors only':
      return refitted(state, { ...state, isErrorsOnly: !state.isErrorsOnly });
    case 'filter':
      return state.opened === null ? { ...state, typing: { purpose: 'filter', text: '' } } : state;
    case 'open':
      return { ...state, opened: state.opened ?? shownEvents(state)[state.list.cursor] ?? null, scroll: 0 };
    case 'back':
      if (state.opened !== null) return { ...state, opened: null };
      return refitted(state, { ...state, list: { ...state.list, filter: '' } });
    default:
      return movedTo(state, action);
  }
}

function movedTo(state: EventsState, action: KeyAction): EventsState {
  const page = bodyRows(state) - 2;
  if (state.opened !== null) {
    const scroll = scrolled(state, action);
    return scroll === undefined ? state : { ...state, scroll };
  }
  const count = shownEvents(state).length;
  const list = moved(state.list, action, { count, page });
  return list === undefined ? state : { ...state, list, isFollowing: list.cursor >= count - 1 };
}
