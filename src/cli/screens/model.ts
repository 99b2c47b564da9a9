/**
 * What all screens share: size, clock, help, typing, and a list with a cursor and a filter. Pure functions over plain
 * data. Tested by `test/cli/screens/model.test.ts`.
 */
import type { KeyAction } from './keys.ts';

/** Below this size a screen only says that it is too small. */
export const leastSize = { columns: 60, rows: 12 } as const;

/** Rows between title and hints. */
export const bodyRows = ({ rows }: Pick<Common, 'rows'>): number => Math.max(0, rows - 2);

interface Typing {
  readonly purpose: 'filter' | 'comment';
  readonly text: string;
}

export interface Common {
  readonly columns: number;
  readonly rows: number;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  readonly isHelpOpen: boolean;
  readonly typing: Typing | null;
  /** The first line of a text at which its last line is visible. */
  readonly lastScroll: number;
}

export const common: Common = {
  columns: 80,
  rows: 24,
  nowMs: 0,
  isHelpOpen: false,
  typing: null,
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
export type Loading<Value> =
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

function typed(typing: Typing, text: string): Typing {
  if (text === '\b') return { ...typing, text: [...typing.text].slice(0, -1).join('') };
  return { ...typing, text: [...typing.text, ...text].slice(0, typedChars).join('') };
}

/** A list with a cursor. The filter matches without regard to case. */
export interface List {
  readonly cursor: number;
  readonly filter: string;
}

export const emptyList: List = { cursor: 0, filter: '' };

/** Moves the cursor within `count` rows, of which `page` are visible; undefined for other keys. */
export function moved(
  list: List,
  action: KeyAction,
  size: { count: number; page: number },
): List | undefined {
  const last = Math.max(0, size.count - 1);
  const page = Math.max(1, size.page - 1);
  const target: Partial<Record<KeyAction, number>> = {
    up: list.cursor - 1,
    down: list.cursor + 1,
    'page up': list.cursor - page,
    'page down': list.cursor + page,
    first: 0,
    last,
  };
  const to = target[action];
  return to === undefined ? undefined : { ...list, cursor: Math.min(last, Math.max(0, to)) };
}

/** The first line of a text after a key; undefined for other keys. */
export function scrolled(state: Common & { readonly scroll: number }, action: KeyAction): number | undefined {
  const { lastScroll, scroll } = state;
  const from = { cursor: Math.min(scroll, lastScroll), filter: '' };
  return moved(from, action, { count: lastScroll + 1, page: bodyRows(state) - 2 })?.cursor;
}

/** Keeps the cursor on a row that exists. */
export const within = (list: List, count: number): List => {
  const cursor = Math.min(list.cursor, Math.max(0, count - 1));
  return cursor === list.cursor ? list : { ...list, cursor };
};

export const matches = (text: string, filter: string): boolean =>
  filter === '' || text.toLowerCase().includes(filter.toLowerCase());

/** The first visible row, so that the cursor is visible and no space is wasted at the end. */
export function firstVisible(cursor: number, count: number, page: number): number {
  const centred = cursor - Math.floor(page / 2);
  return Math.max(0, Math.min(centred, count - page));
}

/** What a filter shows now: while the person types, the text so far. */
export const filterOf = (state: Common, list: List): string =>
  state.typing?.purpose === 'filter' ? state.typing.text : list.filter;
