/**
 * A lock file that names its owner. If the owner's process has ended, on this machine and in this boot, the next process
 * takes the lock over. A second, momentary lock guards the takeover, so that only one of two processes does it. The package
 * `proper-lockfile` judges by the age of a folder instead, so a stopped push would block the next one for seconds.
 * Tested by `test/client/sending/spool.test.ts` and `test/cli/context/config-write.long.test.ts`.
 */
import { linkSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';

interface Owner {
  readonly pid: number;
  readonly host: string;
  /** Distinguishes this process from a later one with the same number; empty if the system does not say. */
  readonly started: string;
}

/** Makes the error for a lock that another process holds; `why` names that process. */
type Busy = (why: string) => Error;

/** Makes the file at `path` the lock of this process. Returns its release. Throws `busy` at once, without waiting. */
export function takeLock(path: string, busy: Busy): () => void {
  const mine = JSON.stringify({
    pid: process.pid,
    host: hostname(),
    started: startOf(process.pid),
  } satisfies Owner);
  if (!create(path, mine)) takeOver(path, mine, busy);
  return () => {
    if (read(path) === mine) rmSync(path, { force: true });
  };
}

/** Creates the file with its whole text, or not at all. Returns whether it did. */
function create(path: string, text: string): boolean {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600 });
  try {
    linkSync(draft, path);
    return true;
  } catch (cause) {
    if (hasCode(cause, 'EEXIST')) return false;
    throw cause;
  } finally {
    rmSync(draft, { force: true });
  }
}

function takeOver(path: string, mine: string, busy: Busy): void {
  const guard = `${path}.takeover`;
  try {
    mkdirSync(guard);
  } catch (cause) {
    if (!hasCode(cause, 'EEXIST')) throw cause;
    throw busy(`another process is taking the lock over; if no process is, remove ${guard}`);
  }
  try {
    const text = read(path);
    const owner = text === undefined ? undefined : parseOwner(text);
    if (owner !== undefined && isAlive(owner)) throw busy(`process ${owner.pid} on ${owner.host} uses it`);
    // if the owner has just released the lock, the file now belongs to another process
    if (text !== undefined) rmSync(path);
    if (!create(path, mine)) throw busy('another process took the lock first');
  } finally {
    rmdirSync(guard);
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return undefined;
    throw cause;
  }
}

/** Returns undefined for a text that no version of gov writes. */
function parseOwner(text: string): Owner | undefined {
  try {
    const { pid, host, started } = JSON.parse(text) as Partial<Owner>;
    return typeof pid === 'number' && typeof host === 'string' && typeof started === 'string'
      ? { pid, host, started }
      : undefined;
  } catch {
    return undefined;
  }
}

/** A process on another host counts as alive, because this host cannot know. */
function isAlive({ pid, host, started }: Owner): boolean {
  if (host !== hostname()) return true;
  try {
    process.kill(pid, 0);
  } catch (cause) {
    // EPERM: the process lives, and belongs to another user
    return hasCode(cause, 'EPERM');
  }
  return startOf(pid) === started;
}

/** Returns the start of the process in clock ticks, with the id of the boot. Linux only. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // the second field may contain spaces; field 22 is the start time
    return `${boot}:${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`;
  } catch {
    return '';
  }
}

const hasCode = (cause: unknown, code: string): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === code;
