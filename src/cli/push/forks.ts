/**
 * Forks of Claude Code (`--resume ID --fork-session`): a new session begins with the lines of its parent, under their ids
 * and times, and names neither. The file of the parent, in the same folder, shows which lines these are. Otherwise each
 * call before the fork would be a call of both sessions. Tested by `test/cli/push/forks.test.ts`.
 */
import { hash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { limits } from '../../contract/limits.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { CopiedLines } from '../../core/intake/run.ts';
import { isObject } from '../../core/json/object.ts';

/** A line of a session: one without an id is housekeeping, which a fork does not repeat. */
interface SessionLine {
  readonly uuid: string | undefined;
  /** What it says, with its time: two lines of one id are the same only if they say the same. */
  readonly said: string;
  readonly session: string | undefined;
  readonly atMs: number | null;
}

/**
 * Returns which lines of a session's file are those of another one, if a file in its folder begins with the same line and
 * is older. Cost: the beginning of each file in the folder, and files that begin alike as a whole.
 */
export function copiedFrom(path: string, bytes: Buffer): CopiedLines | undefined {
  const alike = alikeOf(path, bytes.subarray(0, limits.pushHeadBytes));
  if (alike.length === 0) return undefined;
  const own = linesOf(bytes);
  const parents = alike.flatMap((sibling) => copyOf(own, linesOf(readBytes(sibling))) ?? []);
  // of several, the nearest one has the most lines in common
  return parents.toSorted((a, b) => b.lines - a.lines)[0]?.copied;
}

/** Returns the other files in the folder of a file that begin with the same line. `head`: its first `limits.pushHeadBytes`. */
export function alikeOf(path: string, head: Buffer): readonly string[] {
  const first = firstId(head);
  return first === undefined ? [] : siblingsOf(path).filter((sibling) => firstIdOf(sibling) === first);
}

interface Copy {
  readonly copied: CopiedLines;
  readonly lines: number;
}

/** Returns what the lines have of a parent; undefined if the other file is no parent of them. */
function copyOf(own: readonly SessionLine[], other: readonly SessionLine[]): Copy | undefined {
  const [session, run] = [sessionOf(own), sessionOf(other)];
  if (session === undefined || run === undefined || session === run) return undefined;
  const theirs = new Map(other.map(({ uuid, said }) => [uuid, said]));
  const lines = own.filter(({ uuid }) => uuid !== undefined);
  const end = lines.findIndex(({ uuid, said }) => theirs.get(uuid) !== said);
  const shared = new Set((end === -1 ? lines : lines.slice(0, end)).flatMap(({ uuid }) => uuid ?? []));
  const through = [...shared].at(-1);
  if (through === undefined || !isOlder({ own, other, shared, isFirst: run < session })) return undefined;
  return { copied: { run, through }, lines: shared.size };
}

/** Whether the other file was written while the shared lines were, and this one after them. */
function isOlder({
  own,
  other,
  shared,
  isFirst,
}: {
  readonly own: readonly SessionLine[];
  readonly other: readonly SessionLine[];
  readonly shared: ReadonlySet<string>;
  readonly isFirst: boolean;
}): boolean {
  const times = own.flatMap(({ uuid, atMs }) =>
    uuid !== undefined && shared.has(uuid) && atMs !== null ? [atMs] : [],
  );
  const last = Math.max(...times);
  const wasThere = (lines: readonly SessionLine[]): boolean =>
    lines.some(({ uuid, atMs }) => atMs !== null && atMs < last && (uuid === undefined || !shared.has(uuid)));
  const hasMore = (lines: readonly SessionLine[]): boolean =>
    lines.some(({ uuid }) => uuid !== undefined && !shared.has(uuid));
  if (wasThere(own) !== wasThere(other)) return wasThere(other);
  // without housekeeping of that time: the shorter one ended where the other began, else one of them is taken
  if (hasMore(own) !== hasMore(other)) return hasMore(own);
  return isFirst;
}

const sessionOf = (lines: readonly SessionLine[]): string | undefined =>
  lines.find(({ session }) => session !== undefined)?.session;

function linesOf(bytes: Buffer): SessionLine[] {
  return bytes
    .toString()
    .split('\n')
    .flatMap((text) => {
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch {
        return [];
      }
      if (!isObject(value)) return [];
      const { uuid, sessionId, timestamp, message } = value;
      return [
        {
          uuid: typeof uuid === 'string' ? uuid : undefined,
          said: hash('sha256', JSON.stringify([timestamp, message]), 'hex'),
          session: typeof sessionId === 'string' ? sessionId : undefined,
          atMs: typeof timestamp === 'string' ? parseTimestamp(timestamp) : null,
        },
      ];
    });
}

/** The id of a session's first line with one, as its text shows it. */
function firstId(head: Buffer): string | undefined {
  const text = head.toString('latin1');
  // an id that is no UUID may be that of any line
  return text.includes('"sessionId":') ? /"uuid":\s?"([0-9a-f-]{36})"/.exec(text)?.[1] : undefined;
}

/** Files whose beginning is known: it does not change while they grow. */
const known = new Map<string, string>();

function firstIdOf(path: string): string | undefined {
  const before = known.get(path);
  if (before !== undefined) return before;
  const found = firstId(readBytes(path, limits.pushHeadBytes));
  if (found !== undefined) known.set(path, found);
  return found;
}

function siblingsOf(path: string): string[] {
  const folder = dirname(path);
  const names = readdirSync(folder).filter((name) => name.endsWith('.jsonl') && name !== basename(path));
  return names.slice(0, limits.pushFolderFiles).map((name) => join(folder, name));
}

/** Returns the bytes of a file, or none: it may have gone since. */
function readBytes(path: string, most?: number): Buffer {
  try {
    if (most === undefined) return readFileSync(path);
    const file = openSync(path, 'r');
    try {
      const buffer = Buffer.alloc(most);
      return buffer.subarray(0, readSync(file, buffer, 0, most, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return Buffer.alloc(0);
  }
}
