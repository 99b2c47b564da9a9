/**
 * The thread of a rollout of Codex. A subagent works in a thread of its own, in the session of its parent. The file of a
 * fork begins with lines of its parent, written again with the time of the fork; only the ids of turns keep their age
 * (UUIDv7, RFC 9562 §5.7). Tested by `test/core/intake/pieces/codex-thread.test.ts`.
 */
import { isSource, textOf, type Source } from '../run.ts';
import { readTime } from '../time.ts';

export interface Thread {
  /** The thread's own id. */
  readonly id: string | undefined;
  /** The session of a subagent; undefined for a thread that a person began. */
  readonly session: string | undefined;
  /** The thread whose lines this one repeats. */
  readonly parent: string | undefined;
  /** Number of its first own line: the lines before are those of the parent. 0: it repeats none. */
  readonly ownFrom: number;
}

type Line = Source & { readonly payload: Source };

/** Cost: once over the lines. The file controls them. */
export function threadOf(lines: readonly Line[]): Thread {
  const metas = lines.filter(({ type }) => type === 'session_meta').map(({ payload }) => payload);
  const own = metas[0] ?? {};
  const id = idOf(own);
  const other = metas.map(idOf).find((each) => each !== undefined && each !== id);
  const parent = textOf(own['forked_from_id']) ?? other;
  const start = id === undefined ? undefined : (uuidMs(id) ?? readTime(own['timestamp'])?.unixMs);
  return {
    id,
    session: sessionOf(own, id),
    parent,
    ownFrom: parent === undefined || start === undefined ? 0 : firstOwn(lines, { id, start }),
  };
}

const idOf = ({ id, session_id: session }: Source): string | undefined => textOf(id) ?? textOf(session);

function sessionOf(meta: Source, id: string | undefined): string | undefined {
  const source = isSource(meta['source']) ? meta['source'] : {};
  const started = isSource(source['subagent']) ? source['subagent']['thread_spawn'] : undefined;
  const parent =
    textOf(meta['parent_thread_id']) ?? (isSource(started) ? textOf(started['parent_thread_id']) : undefined);
  const session = textOf(meta['session_id']);
  return parent === undefined || session === undefined || session === id ? parent : session;
}

function firstOwn(lines: readonly Line[], { id, start }: { id: string | undefined; start: number }): number {
  let isCopy = false;
  let isOfParent = false;
  for (const [index, { type, payload }] of lines.entries()) {
    if (type === 'session_meta' && idOf(payload) !== id) isOfParent = true;
    const turn = textOf(payload['turn_id']);
    if (turn === undefined || !startsTurn(type, payload)) continue;
    const begun = uuidMs(turn) ?? readTime(payload['started_at'])?.unixMs;
    if (begun !== undefined && begun >= start) return isCopy ? index : 0;
    // releases before UUIDv7 give a turn no age: after a line of the parent, it is the parent's
    isCopy ||= begun !== undefined || isOfParent;
  }
  return isCopy ? lines.length : 0;
}

const startsTurn = (type: unknown, { type: event }: Source): boolean =>
  type === 'turn_context' || (type === 'event_msg' && /^(task|turn)_started$/.test(String(event)));

/** Returns the Unix milliseconds in a UUIDv7; undefined for any other text. */
function uuidMs(text: string): number | undefined {
  const parts = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i.exec(text);
  return parts === null ? undefined : Number.parseInt(`${parts[1]}${parts[2]}`, 16);
}
