/**
 * Whether a command may show a screen, and showing it. A pipe, CI and an asked-for format get data instead.
 * Tested by `test/cli/screens/shell.test.ts` and `test/cli/screens/tmux.test.ts`.
 */
import type { Invocation } from '../context/command.ts';
import type { OperationId } from '../../contract/table.ts';
import { viewOf } from '../terminal/answer-view.ts';
import type { ListPage } from '../terminal/out.ts';
import { isAsciiLocale } from '../terminal/ascii.ts';
import { safe } from '../terminal/safe.ts';
import type { ScreenName } from './keys.ts';
import type { Common, CommonEvent, Lend } from './model.ts';
import type { Store } from './store.ts';

export type { Lend };

type Call = Pick<Invocation, 'io' | 'out' | 'settings' | 'signal'>;

/** Null: a screen may be shown. Otherwise why not, or empty where the caller asked for data. */
export function whyNoScreen({ io, settings }: Pick<Call, 'io' | 'settings'>): string | null {
  if (settings.formatFrom === 'flag' || io.stdout.isTTY !== true) return '';
  const { env } = io;
  if (env['CI'] !== undefined && env['CI'] !== '') return 'CI is set';
  if (settings.noInput) return '--no-input or GOV_NO_INPUT is set';
  return env['TERM'] === 'dumb' ? 'TERM is dumb' : null;
}

/** As `whyNoScreen`, and says on standard error why a terminal gets data. */
export async function canShow(call: Call): Promise<boolean> {
  const why = whyNoScreen(call);
  if (why !== null && why !== '') await call.out.note(safe`${why}: data instead of a screen`);
  return why === null;
}

/** Rows as one JSON object a line, unless the caller asked for another format. */
export async function rowsAsData(
  { out, settings }: Pick<Call, 'out' | 'settings'>,
  pages: AsyncIterable<ListPage>,
  operation: OperationId,
): Promise<void> {
  const view = viewOf(operation);
  if (settings.formatFrom === 'flag') return out.list(pages, view, view.items ?? 'data');
  for await (const { items } of pages) for (const item of items) await out.json(item, 0);
}

interface ScreenStart<State extends Common> {
  readonly name: ScreenName;
  readonly store: Pick<Store<State, CommonEvent>, 'get' | 'subscribe' | 'dispatch' | 'close'>;
  /** --ascii. */
  readonly ascii: boolean;
  /** As of the shell. */
  readonly lends?: (lend: Lend) => void;
}

const tickMs = 1000;
const noop = (): void => {};

/** Shows the screen until the person quits. A signal ends it too, and the command then ends by that signal. */
export async function showScreen<State extends Common>(
  { io, settings, signal }: Call,
  { name, store, ascii, lends }: ScreenStart<State>,
): Promise<void> {
  const { openScreen } = await import('./open.ts');
  // the command itself ends by a signal; without another listener ink would kill the process at once
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const name of signals) process.on(name, noop);
  const ticker = setInterval(() => store.dispatch({ kind: 'tick', nowMs: io.now() }), tickMs);
  try {
    await openScreen<State>({
      name,
      store,
      stdin: io.stdin,
      stdout: io.stdout,
      stderr: io.stderr,
      color: settings.color,
      isAscii: ascii || isAsciiLocale(io.env),
      signal,
      interrupt: () => void process.kill(process.pid, 'SIGINT'),
      stop: stopped,
      lends,
    });
  } finally {
    clearInterval(ticker);
    store.close();
    for (const name of signals) process.off(name, noop);
  }
}

/** Shows the screen while `work` runs. The end of the screen ends the work, and a failure of the work ends the screen. */
export async function showWith<State extends Common>(
  call: Call,
  showing: ScreenStart<State>,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const ended = new AbortController();
  const signal = AbortSignal.any([call.signal, ended.signal]);
  const working = work(signal);
  const screen = showScreen({ ...call, signal }, showing);
  try {
    await Promise.race([screen, working.then(() => screen)]);
  } finally {
    ended.abort();
    // the terminal is restored before a failure is printed
    await Promise.allSettled([screen, working]);
  }
}

/** Stops the process group, as ctrl-z does without raw mode. Resolves when the shell continues it. */
function stopped(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGCONT', () => resolve());
    process.kill(0, 'SIGTSTP');
  });
}
