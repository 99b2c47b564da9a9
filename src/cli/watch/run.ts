/**
 * `gov events watch`: follows a folder of recordings, and records what is new in each while its program writes it.
 *
 * The files themselves are the queue: a place is kept on disk (`places.ts`) only after the service has acknowledged the
 * events before it. A kill at any step leaves an older place, and what is read again gives the same events under the same
 * ids, which the service has. Tested by `test/cli/watch/run.test.ts`, and killed in `test/cli/commands/events/watch.test.ts`.
 */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { isFolder } from '../../files/make-folder.ts';
import { limits } from '../../contract/limits.ts';
import { backoffMs, type Backoff } from '../../core/backoff.ts';
import { isTransient, pause } from '../../client/retry.ts';
import { exit, failureOf, usage } from '../program/exit.ts';
import { pushPass, type FileOutcome, type PassIo } from '../push/pass.ts';
import { isRecordingName } from '../push/folder.ts';
import { sessionsFirst } from '../push/source.ts';
import type { PushOptions } from '../push/work.ts';
import { headOf, look, type FolderScan, type Take } from './look.ts';
import { Places, type Place } from './places.ts';
import type { WatchNote } from './report.ts';
import { Wake } from './wake.ts';

export interface WatchOptions extends Pick<
  PushOptions,
  'runPrefix' | 'allowRemainder' | 'retries' | 'keyPrefix'
> {
  readonly folder: string;
  readonly from: NonNullable<PushOptions['from']>;
  /** Record what is there, and end. */
  readonly once: boolean;
  /** How often to look at all files, whatever the system reports. */
  readonly pollMs: number;
}

export interface WatchIo extends PassIo {
  readonly say: (note: WatchNote) => Promise<void>;
}

/** Returns the exit code: 9 if a file was refused with `once`. Ends with the signal otherwise. */
export async function watchFolder(options: WatchOptions, io: WatchIo): Promise<number> {
  if (!isFolder(options.folder)) throw usage(`${options.folder}: expected a folder`);
  const watching = new Watching(options, io);
  try {
    return await watching.run();
  } finally {
    watching.close();
  }
}

const backoff: Backoff = { firstMs: 1000, mostMs: limits.pushRetrySeconds * 1000, jitter: 0.5 };

class Watching {
  readonly #options: WatchOptions;
  readonly #io: WatchIo;
  readonly #places: Places;
  readonly #wake: Wake;
  readonly #unripe = new Map<string, string>();
  readonly #notBefore = new Map<string, number>();
  #unread: ReadonlySet<string> = new Set();
  #closed: ReadonlySet<string> = new Set();
  #refused = 0;
  #isMissing = false;

  constructor(options: WatchOptions, io: WatchIo) {
    this.#options = options;
    this.#io = io;
    const key = [io.target(), options.folder, options.from, options.runPrefix ?? ''].join('\n');
    this.#places = new Places(join(io.stateDirectory, 'watched', `${hash('sha256', key, 'hex')}.ndjson`));
    this.#wake = new Wake(options.folder);
  }

  async run(): Promise<number> {
    const { signal, say } = this.#io;
    const { folder, once } = this.#options;
    await this.#requireService();
    let isFirst = true;
    while (!signal.aborted) {
      const seen = this.#look();
      if (seen === undefined) {
        if (!this.#isMissing) await say({ kind: 'missing', folder });
        this.#isMissing = true;
      } else {
        this.#isMissing = false;
        if (isFirst) await say({ kind: 'watching', folder, files: seen.files, others: seen.others.length });
        isFirst = false;
        await this.#nameUnread(seen);
        if (!once) this.#wake.folders(seen.folders);
        await this.#follow(seen);
      }
      if (once) break;
      const mostMs = Math.min(seen?.againMs ?? Infinity, this.#options.pollMs);
      await this.#wake.next({ settleMs: limits.watchSettleMs, mostMs, signal });
    }
    return this.#refused > 0 ? exit.partial : exit.ok;
  }

  close(): void {
    this.#wake.close();
  }

  /** Says once of each link and pipe with the name of a recording, and of what cannot be read, that it is not read. */
  async #nameUnread({ others, closed }: FolderScan): Promise<void> {
    for (const { name: file, code } of closed)
      if (!this.#closed.has(file)) await this.#io.say({ kind: 'closed', file, code });
    this.#closed = new Set(closed.map(({ name }) => name));
    const unread = others.filter(isRecordingName);
    for (const file of unread) if (!this.#unread.has(file)) await this.#io.say({ kind: 'unread', file });
    this.#unread = new Set(unread);
  }

  #look(): FolderScan | undefined {
    try {
      return look(this.#options.folder, {
        places: new Map(this.#places.all().map((place) => [place.name, place])),
        nowMs: this.#io.now(),
        unripe: this.#unripe,
        notBefore: this.#notBefore,
        isOnce: this.#options.once,
      });
    } catch (failure) {
      if (isFolder(this.#options.folder)) throw failure;
      return undefined;
    }
  }

  /** Places are worth nothing at a service that lost its events, such as a new plane at the same address. */
  async #requireService(): Promise<void> {
    const { eventId } = this.#places;
    if (eventId === null) return;
    const has = await this.#patiently(async () => {
      const sink = await this.#io.openSink();
      return sink.has?.(eventId, this.#io.signal);
    });
    if (has !== false) return;
    this.#places.clear();
    await this.#io.say({ kind: 'forgotten' });
  }

  async #follow({ changes, moved, takes }: FolderScan): Promise<void> {
    for (const change of changes) {
      await this.#io.say(change);
      if (change.kind === 'renamed') this.#places.drop(change.from);
      if (change.kind === 'vanished') this.#places.drop(change.file);
    }
    this.#places.keep(moved);
    const ordered = sessionsFirst(takes.map((take) => ({ ...take, path: take.file.path })));
    for (const part of passesOf(ordered)) {
      if (this.#io.signal.aborted) return;
      await this.#take(part);
    }
  }

  async #take(takes: readonly Take[]): Promise<void> {
    const { signal, now } = this.#io;
    let began = 0;
    const pass = await this.#patiently(async () => {
      began = performance.now();
      const done = await pushPass(
        takes.map(({ file, knownAs, until }) => ({
          name: file.name,
          path: file.path,
          size: until,
          until,
          knownAs,
          isFound: true,
        })),
        { io: this.#io, options: pushOptions(this.#options, now()) },
      );
      if (done.failure !== undefined) throw done.failure;
      return done;
    });
    if (pass === undefined || signal.aborted) return;
    const spentMs = (performance.now() - began) / takes.length;
    const outcomes = new Map(pass.files.map((file) => [file.file, file]));
    const places: Place[] = [];
    for (const take of takes) {
      const outcome = outcomes.get(take.file.name);
      if (outcome === undefined || hasGone(outcome)) continue;
      places.push(placeOf(take));
      this.#notBefore.set(
        take.file.name,
        now() + Math.max(limits.watchPauseMs, limits.watchPauseTimes * spentMs),
      );
    }
    this.#places.keep(places, pass.eventId);
    for (const outcome of outcomes.values()) {
      if (hasGone(outcome) || outcome.became === 'unchanged') continue;
      if (outcome.refusal !== undefined) this.#refused += 1;
      await this.#io.say({ kind: 'taken', ...outcome });
    }
  }

  /** Repeats what fails because the service cannot be reached, and says so once. Undefined: the signal fired. */
  async #patiently<Result>(attempt: () => Promise<Result>): Promise<Result | undefined> {
    const { signal, say } = this.#io;
    for (let failures = 0; ;) {
      try {
        const result = await attempt();
        if (failures > 0) await say({ kind: 'resumed' });
        return result;
      } catch (failure) {
        if (signal.aborted) return undefined;
        if (!isTransient(failure) || this.#options.once) throw failure;
        failures += 1;
        if (failures === 1) await say({ kind: 'waiting', reason: failureOf(failure).message });
        await pause(backoffMs(backoff, failures, Math.random()), signal).catch(() => {});
      }
    }
  }
}

/** It was there at the look, and is not now: the next look says so. */
const hasGone = ({ refusal }: FileOutcome): boolean => refusal?.includes('enoent: ') === true;

const placeOf = ({ file, knownAs, until }: Take): Place => ({
  name: file.name,
  knownAs,
  device: file.device,
  inode: file.inode,
  size: file.size,
  modifiedMs: file.modifiedMs,
  taken: until,
  ...headOf(file.path, until),
});

/** Parts of at most `limits.watchPassFiles` files and `limits.watchPassBytes` bytes, or one larger file. */
function* passesOf<Each extends Take>(takes: readonly Each[]): Generator<Each[]> {
  let part: Each[] = [];
  let bytes = 0;
  for (const take of takes) {
    const isFull = part.length === limits.watchPassFiles || bytes + take.until > limits.watchPassBytes;
    if (isFull && part.length > 0) {
      yield part;
      [part, bytes] = [[], 0];
    }
    part.push(take);
    bytes += take.until;
  }
  if (part.length > 0) yield part;
}

const pushOptions = (
  { from, runPrefix, allowRemainder, retries, keyPrefix }: WatchOptions,
  nowMs: number,
): PushOptions => ({
  files: [],
  format: 'auto',
  from,
  run: undefined,
  runPrefix,
  // the service is asked for what it has, so that times of an earlier import stay
  importedAt: nowMs,
  batchSize: limits.batchEvents,
  concurrency: 1,
  spool: undefined,
  resume: false,
  dryRun: false,
  allowRemainder,
  failOn: 'rejected',
  retries,
  keyPrefix,
});
