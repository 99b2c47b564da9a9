/**
 * Draws a screen with ink: full size, on the alternate screen, one line of text per row. It turns keys into events of the
 * store, and everything else follows from the state. Loaded only with a screen. Tested by `test/cli/screens/shell.test.ts`.
 */
import { Box, Text, useApp, useInput, useWindowSize, type Key } from 'ink';
import { createElement as element, memo, useEffect, useSyncExternalStore, type ReactNode } from 'react';
import { Safe, safe } from '../terminal/safe.ts';
import { widthOf } from '../terminal/width.ts';
import { asciiLine } from '../terminal/ascii.ts';
import { filled, fit, fitLine, type ScreenStyle } from './draw.ts';
import { actionOf, bindings, type KeyBinding, type KeyAction, type ScreenName } from './keys.ts';
import { bodyRows, leastSize, type Common, type CommonEvent, type Lend } from './model.ts';
import type { Store } from './store.ts';

/** The first line, and the lines between it and the hints. */
export interface Frame {
  readonly title: Safe;
  readonly body: readonly Safe[];
  /** Replaces the hints: a question, or what a key did. */
  readonly status?: Safe | undefined;
  /** Keys that do nothing here; the hints leave them out. */
  readonly idle?: readonly KeyAction[];
  /** Of a text that scrolls: the greatest useful first line. */
  readonly lastScroll?: number;
}

export interface ShellOptions<State extends Common> {
  readonly name: ScreenName;
  readonly store: Pick<Store<State, CommonEvent>, 'get' | 'subscribe' | 'dispatch'>;
  readonly view: (state: State, look: ScreenStyle) => Frame;
  readonly look: ScreenStyle;
  readonly isAscii: boolean;
  /** Standard input is a terminal. */
  readonly hasKeys: boolean;
  readonly quit: () => void;
  readonly interrupt: () => void;
  /** Stops the process until the shell continues it. */
  readonly stop: () => Promise<void>;
  /** Gets what gives the terminal to `work` while it runs; the screen then shows again. */
  readonly lends?: ((lend: Lend) => void) | undefined;
}

export function Shell<State extends Common>(options: ShellOptions<State>): ReactNode {
  const { store, isAscii, hasKeys, lends } = options;
  const state = useSyncExternalStore(store.subscribe, store.get);
  const { columns, rows } = useWindowSize();
  const { suspendTerminal } = useApp();
  useEffect(() => lends?.(suspendTerminal), [lends, suspendTerminal]);
  useEffect(() => store.dispatch({ kind: 'size', columns, rows }), [store, columns, rows]);
  useInput(
    (input, key) => react(options, { input, key, suspend: () => void suspendTerminal(options.stop) }),
    {
      isActive: hasKeys,
    },
  );
  const { lines, lastScroll } = drawn({ ...state, columns, rows }, options);
  useEffect(() => store.dispatch({ kind: 'drawn', lastScroll }), [store, lastScroll]);
  return element(
    Box,
    { flexDirection: 'column', width: columns, height: rows, overflow: 'hidden' },
    lines.map((line, at) => {
      const text = String(line) === '' ? ' ' : String(line);
      return element(Line, { key: at, text: isAscii ? asciiLine(text) : text });
    }),
  );
}

const Line = memo(({ text }: { readonly text: string }) =>
  element(Box, { flexShrink: 0, height: 1 }, element(Text, { wrap: 'truncate-end' }, text)),
);

interface Press {
  readonly input: string;
  readonly key: Key;
  readonly suspend: () => void;
}

function react<State extends Common>(options: ShellOptions<State>, { input, key, suspend }: Press): void {
  if (key.eventType === 'release') return;
  const { store } = options;
  const characters = [...input];
  // keys that were pressed faster than they were read come together
  if (characters.length > 1 && !key.ctrl && !key.meta && store.get().typing === null) {
    for (const [at, one] of characters.entries()) {
      if (store.get().typing !== null) return typed(options, characters.slice(at).join(''));
      press(options, { name: one === '\r' ? 'enter' : keyName(one, key), input: one, suspend });
    }
    return;
  }
  const name = keyName(input, key);
  if ((key.meta && !key.escape) || (key.ctrl && name !== 'ctrl-c' && name !== 'ctrl-z')) return;
  press(options, { name, input, suspend });
}

function press<State extends Common>(
  options: ShellOptions<State>,
  { name, input, suspend }: { readonly name: string } & Pick<Press, 'input' | 'suspend'>,
): void {
  const { store } = options;
  if (name === 'ctrl-c') return options.interrupt();
  if (name === 'ctrl-z') return suspend();
  if (store.get().typing !== null && name !== 'enter' && name !== 'esc')
    return typed(options, name === 'backspace' ? '\b' : input);
  const action = actionOf(options.name, name);
  if (action === 'quit') return options.quit();
  store.dispatch(action === undefined ? { kind: 'other key' } : { kind: 'key', action });
}

/** A paste may have several lines. */
const typed = <State extends Common>({ store }: ShellOptions<State>, text: string): void => {
  if (text !== '') store.dispatch({ kind: 'text', text: text === '\b' ? text : text.replace(/\s+/g, ' ') });
};

/** The name of a key as in the table of keys. */
export function keyName(input: string, key: Key): string {
  if (key.ctrl) return `ctrl-${input}`;
  if (key.upArrow) return 'up';
  if (key.downArrow) return 'down';
  if (key.pageUp) return 'pageup';
  if (key.pageDown) return 'pagedown';
  if (key.home) return 'home';
  if (key.end) return 'end';
  if (key.return) return 'enter';
  if (key.escape) return 'esc';
  // a terminal sends DEL for the key above enter
  if (key.backspace || key.delete) return 'backspace';
  return input === ' ' ? 'space' : input;
}

interface ScreenText {
  readonly lines: readonly Safe[];
  readonly lastScroll: number;
}

function drawn<State extends Common>(state: State, options: ShellOptions<State>): ScreenText {
  const { columns, rows, lastScroll } = state;
  if (columns < leastSize.columns || rows < leastSize.rows) return { lines: tooSmall(state), lastScroll };
  const frame = options.view(state, options.look);
  const { bold } = options.look.styles;
  const body = state.isHelpOpen ? helpLines(options.name, state, options.look) : frame.body;
  const help = state.isHelpOpen
    ? safe` ${bold('?')} or ${bold('esc')} closes the keys · ${bold('q')} quit`
    : null;
  const lines = [
    fitLine(frame.title, columns),
    ...filled(body, bodyRows(state)).map((line) => fitLine(line, columns)),
    fitLine(help ?? frame.status ?? hintLine(options, { columns, idle: frame.idle ?? [] }), columns),
  ];
  return { lines, lastScroll: frame.lastScroll ?? 0 };
}

function tooSmall({ columns, rows }: Common): Safe[] {
  const lines = [
    safe`terminal too small: ${columns}×${rows}`,
    safe`needs ${leastSize.columns}×${leastSize.rows}; q quits`,
  ];
  return lines.slice(0, rows).map((line) => fit(line, columns));
}

const hintsOf = (list: readonly KeyBinding[]) => list.filter(({ hint }) => hint !== undefined);

/** As many hints of keys that do something as fit; `? help` and `q quit` always do. */
function hintLine(
  { name, look, hasKeys }: Pick<ShellOptions<never>, 'name' | 'look' | 'hasKeys'>,
  { columns, idle }: { readonly columns: number; readonly idle: readonly KeyAction[] },
): Safe {
  if (!hasKeys) return look.styles.dim(safe` standard input is no terminal: no keys work; ctrl-c leaves`);
  const all = hintsOf(bindings[name].filter(({ action }) => !idle.includes(action))).map(
    ({ keys, action, hint }) => ({
      text: safe`${look.styles.bold(keys[0] ?? '')} ${hint ?? ''}`,
      isFixed: action === 'quit' || action === 'help',
    }),
  );
  const separator = ' · ';
  const fixed = all.filter(({ isFixed }) => isFixed);
  let left = columns - 1 - fixed.reduce((sum, { text }) => sum + widthOf(text) + separator.length, 0);
  const shown = all.filter(({ text, isFixed }) => {
    if (isFixed) return true;
    left -= widthOf(text) + separator.length;
    return left >= 0;
  });
  return safe` ${Safe.join(
    shown.map(({ text }) => text),
    separator,
  )}`;
}

/** `pagedown, space` */
const keyColumns = 15;

function helpLines(name: ScreenName, { columns, rows }: Common, { styles }: ScreenStyle): Safe[] {
  const rest = bodyRows({ rows });
  const entries = bindings[name].map(
    ({ keys, does }) => safe`${styles.bold(fit(keys.join(', '), keyColumns))} ${does}`,
  );
  const head = [safe` ${styles.bold('Keys')}`];
  if (entries.length + head.length <= rest) return [...head, ...entries.map((each) => safe`  ${each}`)];
  // two columns of short words, where one is too high
  const words = bindings[name].map(
    ({ keys, short, hint }) => safe`${styles.bold(fit(keys.join(', '), keyColumns))} ${short ?? hint ?? ''}`,
  );
  const half = Math.ceil(words.length / 2);
  const width = Math.floor(columns / 2);
  const pairs = words.slice(0, half).map((each, at) => {
    return safe` ${fitLine(each, width - 2)} ${fitLine(words[half + at] ?? safe``, width - 1)}`;
  });
  return [...head, ...pairs];
}
