/**
 * Opens a screen in the terminal. The build makes of this file `dist/screens.js`, an ES module of its own, because ink
 * has top-level await and no other command needs it. Only plain data and functions cross to it: a class would be there
 * twice. Tested by `test/cli/screens/shell.test.ts`.
 */
import { setImmediate } from 'node:timers/promises';
import { render } from 'ink';
import { createElement } from 'react';
import type { OutputStream } from '../terminal/io.ts';
import { lookFor, type ScreenStyle } from './draw.ts';
import type { ScreenName } from './keys.ts';
import type { Common } from './model.ts';
import { Shell, type Frame, type ShellOptions } from './shell.ts';
import { approvalsView } from './approvals/view.ts';
import { eventsView } from './events/view.ts';
import { runsView } from './runs/view.ts';
import { topView } from './top/view.ts';

/** A view takes the state of its own screen, which the command that opens the screen has made. */
const views: Readonly<Record<ScreenName, (state: never, look: ScreenStyle) => Frame>> = {
  top: topView,
  runs: runsView,
  approvals: approvalsView,
  events: eventsView,
};

const homeAndErase = '\u001b[H\u001b[2J';

/** After the last change of the size, by when no frame of the old size is on its way to the terminal. */
const settledMs = 100;

export interface OpenOptions<State extends Common> extends Pick<
  ShellOptions<State>,
  'name' | 'store' | 'isAscii' | 'interrupt' | 'stop' | 'lends'
> {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly color: boolean;
  /** Ends the screen. */
  readonly signal: AbortSignal;
}

/** Resolves when the person quits or the signal fires; the terminal then shows what it showed before the screen. */
export async function openScreen<State extends Common>(options: OpenOptions<State>): Promise<void> {
  const { name, store, isAscii, interrupt, stop, lends, stdin, stdout, stderr, color, signal } = options;
  const shell = createElement(Shell<State>, {
    name,
    store,
    // the command pairs name and state
    view: views[name] as (state: State, look: ScreenStyle) => Frame,
    look: lookFor(color),
    isAscii,
    hasKeys: stdin.isTTY === true,
    interrupt,
    stop,
    lends: (lend) => lends?.((work) => lend(() => withoutInput(stdin, work))),
    quit: () => instance.unmount(),
  });
  const instance = render(shell, {
    stdin,
    stdout,
    stderr,
    alternateScreen: true,
    incrementalRendering: true,
    // the caller has decided; ink would refuse where CI is set
    interactive: true,
    exitOnCtrlC: false,
    patchConsole: false,
    maxFps: 30,
  });
  let { rows } = stdout;
  let isShrunk = false;
  let repainting: NodeJS.Timeout | undefined;
  const onResize = (): void => {
    isShrunk ||= (stdout.rows ?? 0) < (rows ?? 0);
    ({ rows } = stdout);
    clearTimeout(repainting);
    repainting = setTimeout(repaint, settledMs);
  };
  // a frame of the old size may have been wrapped by the terminal, and ink draws only lines that changed
  const repaint = (): void => {
    instance.clear();
    stdout.write(homeAndErase);
    instance.rerender(shell);
  };
  stdout.on('resize', onResize);
  const end = (): void => instance.unmount();
  signal.addEventListener('abort', end, { once: true });
  try {
    if (signal.aborted) end();
    await instance.waitUntilExit();
  } finally {
    signal.removeEventListener('abort', end);
    stdout.off('resize', onResize);
    clearTimeout(repainting);
    // tmux keeps rows of a window that lost height, and shows them on the normal screen
    if (isShrunk) stdout.write(homeAndErase);
  }
}

/** Runs `work` while nothing reads standard input: a phrase that is typed at the terminal belongs to `work` alone. */
async function withoutInput(stdin: NodeJS.ReadableStream, work: () => Promise<void>): Promise<void> {
  // a stream that lost its listener in this turn pauses in the next one
  await setImmediate();
  stdin.pause();
  await setImmediate();
  await work();
}
