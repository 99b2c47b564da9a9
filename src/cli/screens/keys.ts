/**
 * The keys of the screens: one table, from which come the reaction, the line of hints, the help over a screen and
 * `docs/reference/screens.md`. Tested by `test/cli/screens/keys.test.ts`.
 */

export type ScreenName = 'top' | 'runs' | 'approvals' | 'events';

export type KeyAction =
  | 'quit'
  | 'interrupt'
  | 'suspend'
  | 'help'
  | 'back'
  | 'open'
  | 'up'
  | 'down'
  | 'page up'
  | 'page down'
  | 'first'
  | 'last'
  | 'filter'
  | 'pause'
  | 'errors only'
  | 'proof'
  | 'decision'
  | 'reload'
  | 'approve'
  | 'deny'
  | 'yes';

export interface KeyBinding {
  /** As printed: `q`, `enter`, `ctrl-c`. */
  readonly keys: readonly string[];
  readonly action: KeyAction;
  /** What the key does, for help and docs. */
  readonly does: string;
  /** The word in the line of hints; absent: not there. */
  readonly hint?: string;
  /** The word in the help of a small screen, where it is not the hint. */
  readonly short?: string;
}

const common: readonly KeyBinding[] = [
  { keys: ['q'], action: 'quit', does: 'leave', hint: 'quit' },
  { keys: ['?'], action: 'help', does: 'show or hide the keys', hint: 'help' },
  { keys: ['ctrl-c'], action: 'interrupt', does: 'leave with exit code 130', short: 'leave' },
  { keys: ['ctrl-z'], action: 'suspend', does: 'stop; the shell command fg continues', short: 'stop' },
];

const moves: readonly KeyBinding[] = [
  { keys: ['up', 'k'], action: 'up', does: 'move up', short: 'up' },
  { keys: ['down', 'j'], action: 'down', does: 'move down', short: 'down' },
  { keys: ['pageup', 'b'], action: 'page up', does: 'move up by a page', short: 'page up' },
  { keys: ['pagedown', 'space'], action: 'page down', does: 'move down by a page', short: 'page down' },
  { keys: ['home', 'g'], action: 'first', does: 'move to the first row', short: 'first row' },
  { keys: ['end', 'G'], action: 'last', does: 'move to the last row', short: 'last row' },
];

const open: KeyBinding = { keys: ['enter'], action: 'open', does: 'open the chosen row', hint: 'open' };
const back: KeyBinding = {
  keys: ['esc'],
  action: 'back',
  does: 'close this view; clear the filter; end typing',
  hint: 'back',
};
const filter: KeyBinding = {
  keys: ['/'],
  action: 'filter',
  does: 'show only rows with this text; enter keeps it, esc clears it',
  hint: 'filter',
};
const reload: KeyBinding = { keys: ['r'], action: 'reload', does: 'load again', hint: 'reload' };

export const bindings: Readonly<Record<ScreenName, readonly KeyBinding[]>> = {
  top: [
    { keys: ['p'], action: 'pause', does: 'stop sampling, or continue', hint: 'pause' },
    {
      keys: ['!'],
      action: 'errors only',
      does: 'show only what needs attention, or everything',
      hint: 'errors only',
    },
    ...common,
  ],
  runs: [
    open,
    back,
    filter,
    { keys: ['d'], action: 'decision', does: 'show the decision of the chosen event', hint: 'decision' },
    { keys: ['p'], action: 'proof', does: 'verify the newest proof of the run', hint: 'proof' },
    reload,
    ...moves,
    ...common,
  ],
  approvals: [
    { keys: ['a'], action: 'approve', does: 'approve; asks for a comment, then for a yes', hint: 'approve' },
    { keys: ['d'], action: 'deny', does: 'deny; asks for a comment, then for a yes', hint: 'deny' },
    {
      keys: ['y'],
      action: 'yes',
      does: 'answer yes to the question; any other key answers no',
      short: 'answer yes',
    },
    open,
    back,
    filter,
    reload,
    ...moves,
    ...common,
  ],
  events: [
    { keys: ['p'], action: 'pause', does: 'hold the list still, or follow again', hint: 'pause' },
    filter,
    {
      keys: ['!'],
      action: 'errors only',
      does: 'show only denied, blocked and failed, or everything',
      hint: 'errors only',
    },
    open,
    back,
    ...moves,
    ...common,
  ],
};

const byKey = new Map(
  Object.entries(bindings).map(([screen, list]) => [
    screen,
    new Map(list.flatMap(({ keys, action }) => keys.map((key) => [key, action] as const))),
  ]),
);

export const actionOf = (screen: ScreenName, key: string): KeyAction | undefined =>
  byKey.get(screen)?.get(key);
