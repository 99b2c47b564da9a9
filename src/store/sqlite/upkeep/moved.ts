/**
 * Whether the files of the store are still the ones that were opened: a database that was removed or replaced
 * under a running process would go on taking events into a file that nobody finds again. Looks by `stat` only,
 * since closing a descriptor of a database would drop the locks that this process holds on it.
 * Proven by `test/store/sqlite/upkeep/moved.test.ts`.
 */
import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';

const lookEveryMs = 1000;

/** Tells `moved` once, within about a second, which path no longer leads to its file. Answers how to stop. */
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

/** Empty where there is no file; null where that cannot be said now, as with no descriptor left. */
function absent(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return code === 'ENOENT' || code === 'ENOTDIR' ? '' : null;
}
