/**
 * A lock that names its owner. An owner that is gone, on this machine and in this boot, has left it behind, and the
 * next process takes it over. Taking over happens under a second, momentary lock, so that of two that find the same
 * dead owner only one does it. Proven by `test/cli/push/spool.test.ts` and `test/cli/context/config-write.test.ts`.
 */
import { linkSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';

interface Owner {
  readonly pid: number;
  readonly host: string;
  /** Tells this process from a later one with the same number; empty where the system does not say. */
  readonly started: string;
}

/** The error where another process holds the lock; `why` names it. */
type Busy = (why: string) => Error;

/** Makes the file at `path` the lock of this process; the answer releases it. Throws `busy` at once, without waiting. */
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

/** The file appears with its text or not at all. */
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
    throw busy(`another process is taking it over; if none is, remove ${guard}`);
  }
  try {
    const text = read(path);
    const owner = text === undefined ? undefined : parseOwner(text);
    if (owner !== undefined && isAlive(owner)) throw busy(`process ${owner.pid} on ${owner.host} uses it`);
    // where the owner has just let it go, what stands there by now is another one's
    if (text !== undefined) rmSync(path);
    if (!create(path, mine)) throw busy('another process was faster');
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

/** Undefined for a text that no version has written. */
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

/** On another host nothing can be known: it counts as alive. */
function isAlive({ pid, host, started }: Owner): boolean {
  if (host !== hostname()) return true;
  try {
    process.kill(pid, 0);
  } catch (cause) {
    // EPERM: alive, and another user's
    return hasCode(cause, 'EPERM');
  }
  return startOf(pid) === started;
}

/** When the process began, in clock ticks since the boot that is named with it. Linux only. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // the second field may hold spaces; the 22nd of all is the start
    return `${boot}:${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`;
  } catch {
    return '';
  }
}

const hasCode = (cause: unknown, code: string): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === code;
