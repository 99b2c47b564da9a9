/**
 * `gov plane serve` or `gov service serve` as a process of its own, built, for tests of signals, kills and several
 * processes.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { cleanEnv, runner } from '../cli/support/tool.ts';

export interface ServingProcess {
  readonly child: ChildProcess;
  readonly baseUrl: string;
  /** Exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | string | null>;
  /** What it logged so far. */
  readonly log: () => string;
}

export interface ProcessOptions {
  /** By how much its clock is ahead. */
  readonly aheadMs?: number;
  /** The most files that it may open. */
  readonly openFiles?: number | undefined;
  /** JavaScript that runs before the tool, as a module. */
  readonly preload?: string;
  /** Variables beside those of every test. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Serves a data directory; rejects with the log where that fails. It ends with the test at the latest. */
export async function serveProcess(
  kind: 'plane' | 'service',
  dataDir: string,
  { aheadMs = 0, openFiles, preload = '', env = {} }: ProcessOptions = {},
): Promise<ServingProcess> {
  const clock = aheadMs === 0 ? '' : `const { now } = Date; Date.now = () => now() + ${aheadMs};`;
  const first = `${preload}\n${clock}`.trim();
  const preloads = first === '' ? [] : ['--import', `data:text/javascript,${encodeURIComponent(first)}`];
  const bound = openFiles === undefined ? '' : `ulimit -n ${openFiles};`;
  const words = [process.execPath, ...preloads, runner, kind, 'serve', '--data', dataDir];
  const child = spawn('sh', ['-c', `${bound} exec "$0" "$@"`, ...words], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: cleanEnv(env),
  });
  const orphan = (): boolean => child.kill('SIGKILL');
  process.once('exit', orphan);
  let log = '';
  const ended = new Promise<number | string | null>((resolve) =>
    child.once('exit', (code, signal) => {
      process.off('exit', orphan);
      resolve(signal ?? code);
    }),
  );
  const baseUrl = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      const [, url] = /"baseUrl":"([^"]+)".*"msg":"serving"/.exec(log) ?? [];
      if (url !== undefined) resolve(url);
    });
    child.once('close', () => reject(new Error(log)));
  });
  return { child, baseUrl, ended, log: () => log };
}
