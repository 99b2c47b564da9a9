/** Runs the tool: as a child process, or in this one with streams of its own (quicker, and may be a terminal). */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { expect } from 'vitest';
import { run } from '../../../src/cli/run.ts';
import { projectRoot } from '../../paths.ts';
import { checkPrinted } from './printed.ts';

export interface Result {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}
export interface ToolOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  readonly cwd?: string;
}

/** What `bin/gov` starts: the bundle, which is published, and was built when this run of tests began. */
export const runner = join(projectRoot, 'dist/gov.cjs');

/** An empty directory, removed with all temporary files when the run of tests ends. */
export const emptyDirectory = (): string => mkdtempSync(join(tmpdir(), 'gov-cli-'));

/** Root could make a home that is not there, so each run of tests has an empty one. */
const home = emptyDirectory();

/** One for each file of tests: their logs have one name, and gov remembers the histories of a log. */
const configFolder = (): string =>
  join(
    home,
    createHash('sha256')
      .update(expect.getState().testPath ?? '')
      .digest('hex')
      .slice(0, 8),
  );

/** Nothing of the developer's own set-up reaches a test; modules that were compiled once are taken as they are. */
export const cleanEnv = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
  HOME: home,
  GOV_CONFIG_DIR: configFolder(),
  ...more,
});

export function gov(argv: readonly string[], options: ToolOptions = {}): Promise<Result> {
  const child = spawn(process.execPath, [runner, ...argv], {
    env: cleanEnv(options.env),
    cwd: options.cwd ?? tmpdir(),
    // a session of its own has no terminal, also where the tests have one
    detached: true,
  });
  child.stdin.on('error', () => {});
  child.stdin.end(options.input ?? '');
  return ended(child).then((result) => {
    if (result.signal === null) checkPrinted(argv, result.stdout);
    return result;
  });
}

/** The tool as `nohup bin/gov` starts it: SIGHUP is ignored. */
export const underNohup = (
  argv: readonly string[],
  { env, cwd }: { readonly env: Readonly<Record<string, string>>; readonly cwd: string },
): ChildProcessWithoutNullStreams =>
  spawn('/bin/sh', ['-c', 'trap "" HUP; exec "$0" "$@"', join(projectRoot, 'bin/gov'), ...argv], {
    env: cleanEnv({ ...env, GOV_NODE: process.execPath }),
    cwd,
  });

export function ended(child: ReturnType<typeof spawn>): Promise<Result> {
  const texts = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => (texts.stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (texts.stderr += chunk.toString()));
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal, ...texts })));
}

/** A shell line in which `gov` is the tool. */
export function shell(line: string, options: ToolOptions = {}): Promise<Result> {
  const text = `gov() { '${process.execPath}' '${runner}' "$@"; }; ${line}`;
  const child = spawn('bash', ['-c', text], { env: cleanEnv(options.env), cwd: options.cwd ?? tmpdir() });
  child.stdin.on('error', () => {}); // of a line that has ended before it reads
  child.stdin.end(options.input ?? '');
  return ended(child);
}

export interface InProcessOptions extends ToolOptions {
  /** Columns of a terminal; absent: a pipe. */
  readonly columns?: number;
  /** Somebody sits at the terminal, and types the input. */
  readonly typed?: boolean;
  readonly now?: number;
  /** An administrator's locks. */
  readonly policyFile?: string;
}

export interface Serving {
  readonly child: ReturnType<typeof spawn>;
  readonly baseUrl: string;
  /** Stops it as systemd does; throws unless it ends in order. */
  stop(): Promise<void>;
}

/** Starts a command that serves, and waits for the line that says where. It ends with the test at the latest. */
export function serving(
  argv: readonly string[],
  { env, cwd }: { readonly env: Readonly<Record<string, string>>; readonly cwd: string },
): Promise<Serving> {
  const child = spawn(process.execPath, [runner, ...argv], {
    env: cleanEnv(env),
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const orphan = (): boolean => child.kill('SIGKILL');
  process.once('exit', orphan);
  const how = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      process.off('exit', orphan);
      resolve(`${code ?? signal}`);
    });
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    if ((await how) !== '0') throw new Error(`expected ${argv.join(' ')} to end with 0, got ${await how}`);
  };
  return new Promise((resolve, reject) => {
    let said = '';
    createInterface(child.stderr).on('line', (line) => {
      said += `${line}\n`;
      const { msg, baseUrl } = JSON.parse(line) as { msg?: string; baseUrl?: string };
      if (msg === 'serving' && baseUrl !== undefined) resolve({ child, baseUrl, stop });
    });
    void how.then((end) => reject(new Error(`${argv.join(' ')} ended with ${end}: ${said}`)));
  });
}

/** The same tool in this process. */
export async function govHere(argv: readonly string[], options: InProcessOptions = {}): Promise<Result> {
  const texts = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => {
    const through = new PassThrough();
    through.on('data', (chunk: Buffer) => (texts[name] += chunk.toString()));
    return Object.assign(
      through,
      options.columns === undefined ? {} : { isTTY: true, columns: options.columns },
    );
  };
  const stdin = Object.assign(new PassThrough(), options.typed === true ? { isTTY: true } : {});
  stdin.end(options.input ?? '');
  const code = await run(argv, {
    stdin,
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    env: cleanEnv(options.env),
    cwd: options.cwd ?? tmpdir(),
    ...(options.policyFile === undefined ? {} : { policyFile: options.policyFile }),
    now: () => options.now ?? Date.parse('2026-03-01T12:00:00Z'),
  });
  checkPrinted(argv, texts.stdout);
  return { code, signal: null, ...texts };
}
