/**
 * Says when to look at a folder again: soon after the system reports a change, and every few seconds in any case, because
 * network file systems report none, and the number of watches is limited. Tested by `test/cli/watch/run.test.ts`.
 */
import { watch, type FSWatcher } from 'node:fs';
import { join } from 'node:path';

export class Wake {
  readonly #folder: string;
  readonly #watchers = new Map<string, FSWatcher>();
  #isFull = false;
  #isChanged = false;
  #ring: () => void = () => {};

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Watches these folders, by their names below the folder, and no others. */
  folders(names: readonly string[]): void {
    const wanted = new Set(names);
    for (const [name, watcher] of this.#watchers) {
      if (wanted.has(name)) continue;
      watcher.close();
      this.#watchers.delete(name);
    }
    const fresh = [...wanted].filter((name) => !this.#watchers.has(name));
    for (const name of fresh) this.#watch(name);
    // what happened before the watch began is not reported
    if (fresh.length > 0 && !this.#isFull) this.#isChanged = true;
  }

  #watch(name: string): void {
    if (this.#isFull) return;
    try {
      const watcher = watch(join(this.#folder, name), { persistent: false }, () => this.#changed());
      watcher.on('error', () => {
        watcher.close();
        this.#watchers.delete(name);
      });
      this.#watchers.set(name, watcher);
    } catch (cause) {
      // the system has no more watches: looking every few seconds finds the changes
      this.#isFull =
        cause instanceof Error && 'code' in cause && /^(ENOSPC|EMFILE)$/.test(String(cause.code));
    }
  }

  #changed(): void {
    this.#isChanged = true;
    this.#ring();
  }

  /** Resolves after a change and `settleMs`, or after `mostMs`, or when the signal fires. */
  async next({
    settleMs,
    mostMs,
    signal,
  }: {
    readonly settleMs: number;
    readonly mostMs: number;
    readonly signal: AbortSignal;
  }): Promise<void> {
    if (!this.#isChanged) await this.#pause(mostMs, { signal, isRung: true });
    if (this.#isChanged) await this.#pause(settleMs, { signal, isRung: false });
    this.#isChanged = false;
  }

  #pause(
    ms: number,
    { signal, isRung }: { readonly signal: AbortSignal; readonly isRung: boolean },
  ): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.#ring = () => {};
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener('abort', end, { once: true });
      if (isRung) this.#ring = end;
    });
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }
}
