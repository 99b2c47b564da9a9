/** A hosted service in a process of its own, for tests of signals, kills and several processes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('./hosted-script.ts', import.meta.url));

export interface ServingProcess {
  readonly child: ChildProcess;
  readonly baseUrl: string;
  /** Exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | string | null>;
  /** What it logged so far. */
  readonly log: () => string;
}

/**
 * Serves a data directory; rejects with the log where that fails. It ends with the test at the latest. `aheadMs`: by how
 * much its clock is.
 */
export async function serveProcess(dataDir: string, { aheadMs = 0 } = {}): Promise<ServingProcess> {
  const clock = `const { now } = Date; Date.now = () => now() + ${aheadMs};`;
  const preload = aheadMs === 0 ? [] : ['--import', `data:text/javascript,${encodeURIComponent(clock)}`];
  const child = spawn(process.execPath, [...preload, script, dataDir], { stdio: ['ignore', 'pipe', 'pipe'] });
  const orphan = (): boolean => child.kill('SIGKILL');
  process.once('exit', orphan);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const ended = new Promise<number | string | null>((resolve) =>
    child.once('exit', (code, signal) => {
      process.off('exit', orphan);
      resolve(signal ?? code);
    }),
  );
  const baseUrl = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString().trim()));
    child.once('exit', () => reject(new Error(log)));
  });
  return { child, baseUrl, ended, log: () => log };
}
