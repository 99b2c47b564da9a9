/**
 * Watches whether the paths of the store still lead to the files that it opened. If someone removes or
 * replaces a database under a running process, events would go into a file that nobody finds. The watch only
 * calls `stat`: closing a descriptor of a database would drop this process's locks on it. Source: POSIX
 * `fcntl` locks, in SQLite's "How To Corrupt An SQLite Database File" §2.2.
 * Proven by `test/store/sqlite/upkeep/moved.long.test.ts`.
 */
import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';

const lookEveryMs = 1000;

/**
 * Calls `moved` once, within about a second, with a path that no longer leads to its file. Returns a stop
 * function.
 */
export function watchFiles(paths: readonly string[], moved: (path: string) => void): () => void {
  const opened = new Map(paths.map((path) => [path, identity(statSync(path, { bigint: true }))]));
  const timer = setInterval(() => void look(), lookEveryMs).unref();
  let stopped = false;
  const stop = (): void => {
    stopped = true;
    clearInterval(timer);
  };
  const look = async (): Promise<void> => {
    for (const [path, file] of opened) {
      const found = await stat(path, { bigint: true }).then(identity, absent);
      if (stopped) return;
      if (found === file || found === null) continue;
      stop();
      moved(path);
      return;
    }
  };
  return stop;
}

const identity = ({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string => `${dev}:${ino}`;

/** Empty if the file is missing; null if `stat` cannot say, for example without a free descriptor. */
function absent(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return code === 'ENOENT' || code === 'ENOTDIR' ? '' : null;
}
