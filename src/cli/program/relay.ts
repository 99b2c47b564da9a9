/**
 * Runs the command of a user: directly, without a shell, on the standard streams of this process. It gets the signals that
 * this process gets, and its exit code is that of a shell. It never opens standard input: that would make the stream
 * non-blocking for the command too. Tested by `test/cli/commands/tools/exec.test.ts`.
 */
import { spawn, type StdioOptions } from 'node:child_process';
import { accessSync, constants as modes, statSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { CliError, exit } from './exit.ts';
import { endingSignals, withHangupOf } from './hangup.ts';

/** How a command ended. */
export interface ProgramEnd {
  readonly code: number;
  /** The signal that ended it. */
  readonly signal?: NodeJS.Signals;
  /** Why the command could not start. */
  readonly cause?: CliError;
}

/** Signals end the waiting before the command; once the command runs, it gets them. */
export class Relay {
  /** How the command ended; null before that. */
  ended: ProgramEnd | null = null;
  readonly #stop = new AbortController();
  readonly #isTerminal: boolean;
  readonly #handlers: readonly (readonly [NodeJS.Signals, () => void])[];
  #child: ReturnType<typeof spawn> | undefined;
  #first: NodeJS.Signals | undefined;

  /** `isTerminal`: whether standard input is one. */
  constructor(isTerminal: boolean) {
    this.#isTerminal = isTerminal;
    this.#handlers = endingSignals().map((name) => [name, () => this.#on(name)] as const);
    for (const [name, handler] of this.#handlers) process.on(name, handler);
  }

  /** Fires if a signal comes before the command runs. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get signalCode(): number {
    return 128 + constants.signals[this.#first ?? 'SIGINT'];
  }

  #on(name: NodeJS.Signals): void {
    this.#first ??= name;
    if (this.#child === undefined) return this.#stop.abort(new Error(`ended by ${name}`));
    // a terminal sends these to all its foreground processes, including the command
    if (!this.#isTerminal || name === 'SIGTERM') this.#child.kill(name);
  }

  /** Runs the command to its end. `report` gets what it writes to descriptor 3. */
  async run(
    command: readonly string[],
    { cwd, env, report }: ProgramPlace & { readonly report?: ((written: Readable) => void) | undefined },
  ): Promise<ProgramEnd> {
    const [program = '', ...args] = command;
    this.ended = await new Promise<ProgramEnd>((done) => {
      const [file, words] = tied(program, args, { cwd, env });
      const stdio: StdioOptions = [
        'inherit',
        'inherit',
        'inherit',
        ...(report === undefined ? [] : ['pipe' as const]),
      ];
      const child = spawn(file, words, { stdio, shell: false, cwd, env: { ...env } });
      this.#child = child;
      const written = child.stdio[3];
      if (written instanceof Readable) report?.(written);
      child.once('error', (cause) => done(unstarted(program, cause)));
      child.once('exit', (code, signal) =>
        done(signal === null ? { code: code ?? 1 } : { code: 128 + constants.signals[signal], signal }),
      );
    });
    return this.ended;
  }

  release(): void {
    for (const [name, handler] of this.#handlers) process.off(name, handler);
  }
}

/** Part of util-linux, which every distribution has. */
const setpriv = '/usr/bin/setpriv';
const tie = [setpriv, '--pdeathsig', 'TERM', '--'];

/**
 * On Linux, the kernel ends the command with SIGTERM when this process is gone, also after SIGKILL: otherwise it would run on
 * without a record (PR_SET_PDEATHSIG, prctl(2)). Its own children get no signal. A command that is not found is started
 * without the tie, so that the error is the usual one.
 */
function tied(
  program: string,
  args: readonly string[],
  place: ProgramPlace,
): readonly [file: string, words: readonly string[]] {
  const canTie = process.platform === 'linux' && isExecutable(setpriv);
  if (programPath(program, place) === null) return [program, args];
  const [file = program, ...words] = [...(canTie ? tie : []), ...withHangupOf([program, ...args])];
  return [file, words];
}

export interface ProgramPlace {
  readonly cwd: string;
  readonly env: Readonly<NodeJS.ProcessEnv>;
}

/** Returns the path of a program as a shell finds it; null if there is none. */
export function programPath(program: string, { cwd, env }: ProgramPlace): string | null {
  const folders = (env['PATH'] ?? '').split(delimiter).map((folder) => resolve(cwd, folder));
  const paths = program.includes('/')
    ? [resolve(cwd, program)]
    : folders.map((folder) => join(folder, program));
  return paths.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, modes.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Exit codes of shells: 127 not found, 126 could not start. */
function unstarted(command: string, cause: Error): ProgramEnd {
  const code = 'code' in cause ? String(cause.code) : '';
  const why = code === 'ENOENT' ? 'the command does not exist' : code || cause.message;
  const message = `cannot start ${command}: ${why}`;
  return {
    code: code === 'ENOENT' ? exit.notInstalled : exit.notStarted,
    cause: new CliError(exit.error, message, { code, cause }),
  };
}
