/**
 * What all screens share: size, clock, help, typing, and a list with a cursor and a filter. Pure functions over plain
 * data. Tested by `test/cli/screens/model.test.ts`.
 */
import type { KeyAction } from './keys.ts';

/** Below this size a screen only says that it is too small. */
export const leastSize = { columns: 60, rows: 12 } as const;

/** Rows between title and hints. */
export const bodyRows = ({ rows }: Pick<Common, 'rows'>): number => Math.max(0, rows - 2);

interface TextEntry {
  readonly purpose: 'filter' | 'comment';
  readonly text: string;
}

export interface Common {
  readonly columns: number;
  readonly rows: number;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  readonly isHelpOpen: boolean;
  readonly typing: TextEntry | null;
  readonly list: List;
  /** The first visible line of a text. */
  readonly scroll: number;
  /** The first line of a text at which its last line is visible. */
  readonly lastScroll: number;
}

/** The chosen row, and the text that rows must contain. */
export interface List {
  readonly cursor: number;
  readonly filter: string;
}

export const emptyList: List = { cursor: 0, filter: '' };

export const common: Common = {
  columns: 80,
  rows: 24,
  nowMs: 0,
  isHelpOpen: false,
  typing: null,
  list: emptyList,
  scroll: 0,
  lastScroll: 0,
};

/** Events that every screen knows. `text` comes only while the person types; `\b` deletes a character. */
export type CommonEvent =
  | { readonly kind: 'key'; readonly action: KeyAction }
  | { readonly kind: 'other key' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'size'; readonly columns: number; readonly rows: number }
  | { readonly kind: 'drawn'; readonly lastScroll: number }
  | { readonly kind: 'tick'; readonly nowMs: number };

/** What the person waits for; the text says why, if it failed. */
export type LoadState<Value> =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly why: string }
  | { readonly state: 'ready'; readonly value: Value };

const typedChars = 500;

/** Handles what is the same on every screen; undefined: the screen handles the event. */
export function reduceCommon<State extends Common>(state: State, event: CommonEvent): State | undefined {
  switch (event.kind) {
    case 'size': {
      const { columns, rows } = event;
      return columns === state.columns && rows === state.rows ? state : { ...state, columns, rows };
    }
    case 'drawn':
      return event.lastScroll === state.lastScroll ? state : { ...state, lastScroll: event.lastScroll };
    case 'tick':
      return { ...state, nowMs: event.nowMs };
    case 'text':
      return state.typing === null ? state : { ...state, typing: typed(state.typing, event.text) };
    case 'other key':
      return undefined;
    case 'key':
      if (event.action === 'help') return { ...state, isHelpOpen: !state.isHelpOpen };
      if (!state.isHelpOpen) return undefined;
      return event.action === 'back' ? { ...state, isHelpOpen: false } : state;
  }
}

function typed(typing: TextEntry, text: string): TextEntry {
  if (text === '\b') return { ...typing, text: [...typing.text].slice(0, -1).join('') };
  return { ...typing, text: [...typing.text, ...text].slice(0, typedChars).join('') };
}

/** A list with a cursor and a filter, and a text that may cover it. */
export interface ListScreen<State extends Common> {
  /** The ids of the rows that match the filter, in their order. */
  readonly ids: (state: State) => readonly (string | number)[];
  readonly isText: (state: State) => boolean;
  /** Handles the keys of this screen, and gives others to `browsed`. */
  readonly key: (state: State, action: KeyAction) => State;
}

/** Handles what is the same on every screen with a list. */
export function reduceList<State extends Common>(
  state: State,
  event: CommonEvent,
  screen: ListScreen<State>,
): State {
  const next =
    reduceCommon(state, event) ?? (event.kind === 'key' ? pressed(state, event.action, screen) : state);
  return filterOf(next) === filterOf(state) ? next : refitted(state, next, screen);
}

function pressed<State extends Common>(state: State, action: KeyAction, screen: ListScreen<State>): State {
  if (state.typing?.purpose !== 'filter') return screen.key(state, action);
  if (action !== 'open' && action !== 'back') return state;
  const filter = action === 'open' ? state.typing.text : '';
  return { ...state, typing: null, list: { ...state.list, filter } };
}

/** Moves the cursor or the text, and begins and clears a filter. */
export function browsed<State extends Common>(
  state: State,
  action: KeyAction,
  { ids, isText }: Pick<ListScreen<State>, 'ids' | 'isText'>,
): State {
  const { list, lastScroll } = state;
  const page = bodyRows(state) - 2;
  if (isText(state)) {
    const scroll = moved(Math.min(state.scroll, lastScroll), action, { count: lastScroll + 1, page });
    return scroll === undefined ? state : { ...state, scroll };
  }
  if (action === 'filter') return { ...state, typing: { purpose: 'filter', text: '' } };
  if (action === 'back') return { ...state, list: { ...list, filter: '' } };
  const cursor = moved(list.cursor, action, { count: ids(state).length, page });
  return cursor === undefined ? state : { ...state, list: { ...list, cursor } };
}

/** After a change of the rows the cursor stays on its row, or else on one that exists. */
export function refitted<State extends Common>(
  before: State,
  next: State,
  { ids }: Pick<ListScreen<State>, 'ids'>,
): State {
  const shown = ids(next);
  const chosen = ids(before)[before.list.cursor];
  const at = chosen === undefined ? -1 : shown.indexOf(chosen);
  const cursor = at < 0 ? Math.min(next.list.cursor, Math.max(0, shown.length - 1)) : at;
  return cursor === next.list.cursor ? next : { ...next, list: { ...next.list, cursor } };
}

/** Where a key moves the cursor within `count` rows, of which `page` are visible; undefined for other keys. */
export function moved(
  cursor: number,
  action: KeyAction,
  size: { readonly count: number; readonly page: number },
): number | undefined {
  const last = Math.max(0, size.count - 1);
  const page = Math.max(1, size.page - 1);
  const target: Partial<Record<KeyAction, number>> = {
    up: cursor - 1,
    down: cursor + 1,
    'page up': cursor - page,
    'page down': cursor + page,
    first: 0,
    last,
  };
  const to = target[action];
  return to === undefined ? undefined : Math.min(last, Math.max(0, to));
}

/** Matches without regard to case. */
export const matches = (text: string, filter: string): boolean =>
  filter === '' || text.toLowerCase().includes(filter.toLowerCase());

/** The first visible row, so that the cursor is visible and no space is wasted at the end. */
export function firstVisible(cursor: number, count: number, page: number): number {
  const centred = cursor - Math.floor(page / 2);
  return Math.max(0, Math.min(centred, count - page));
}

/** What the filter of the list shows now: while the person types, the text so far. */
export const filterOf = ({ typing, list }: Common): string =>
  typing?.purpose === 'filter' ? typing.text : list.filter;

/** Gives the terminal to `work` while it runs; the screen then shows again. */
export type Lend = (work: () => Promise<void>) => Promise<void>;
