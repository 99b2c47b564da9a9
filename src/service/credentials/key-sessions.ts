/**
 * Sessions of API keys in a browser (contract B14): a random reference to the key, never the key. The memory of the
 * plane's process holds them, so a restart ends them all. A session ends with its key, after `sessionIdleMinutes`
 * without a call, and `sessionHours` after it was opened. Proven by `test/service/credentials/key-sessions.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { keyDigest } from './token-format.ts';

const tokenBytes = 32;
const idleMs = limits.sessionIdleMinutes * 60_000;
const absoluteMs = limits.sessionHours * 3_600_000;
const linkMs = limits.consoleLinkSeconds * 1000;

/** A session, without its token. */
export interface KeySession {
  /** SHA-256 of the session's token. */
  readonly digest: Buffer;
  /** SHA-256 of the key. */
  readonly key: Uint8Array;
  readonly expiresMs: number;
}

interface CachedKeySession extends KeySession {
  usedMs: number;
}

interface Link {
  readonly key: Uint8Array;
  readonly expiresMs: number;
}

interface SessionOptions {
  readonly now: () => number;
  readonly randomBytes: (size: number) => Buffer;
}

const nameOf = (secret: string): string => keyDigest(secret).toString('latin1');

export class KeySessions {
  readonly #options: SessionOptions;
  /** By the digest of the code, oldest first. */
  readonly #links = new Map<string, Link>();
  /** By the digest of the token, least recently used first. */
  readonly #sessions = new Map<string, CachedKeySession>();

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** A code that opens one session of the key within `consoleLinkSeconds`. */
  createLink(key: Uint8Array): { readonly code: string; readonly expiresMs: number } {
    const code = this.#options.randomBytes(tokenBytes).toString('base64url');
    const expiresMs = this.#options.now() + linkMs;
    bound(this.#links, limits.consoleLinks);
    this.#links.set(nameOf(code), { key, expiresMs });
    return { code, expiresMs };
  }

  /** The key of a code, which from now on is used up. Null for an unknown, used or expired code. */
  takeLink(code: string): Uint8Array | null {
    const name = nameOf(code);
    const link = this.#links.get(name);
    this.#links.delete(name);
    return link === undefined || link.expiresMs <= this.#options.now() ? null : link.key;
  }

  /** A new session of a key. The result alone contains its token. */
  open(key: Uint8Array): { readonly token: string; readonly session: KeySession } {
    const token = this.#options.randomBytes(tokenBytes).toString('base64url');
    const nowMs = this.#options.now();
    const session = { digest: keyDigest(token), key, expiresMs: nowMs + absoluteMs, usedMs: nowMs };
    bound(this.#sessions, limits.consoleSessions);
    this.#sessions.set(nameOf(token), session);
    return { token, session };
  }

  /** The live session of a token, which counts as used now. Null for an unknown or ended one. */
  use(token: string): KeySession | null {
    const name = nameOf(token);
    const session = this.#sessions.get(name);
    if (session === undefined) return null;
    this.#sessions.delete(name);
    const nowMs = this.#options.now();
    if (session.expiresMs <= nowMs || nowMs - session.usedMs > idleMs) return null;
    session.usedMs = nowMs;
    this.#sessions.set(name, session);
    return session;
  }

  /** Ends a session. Null where it had ended before. */
  close(token: string): KeySession | null {
    const session = this.use(token);
    this.#sessions.delete(nameOf(token));
    return session;
  }
}

/** Makes room for one more entry by dropping the first. */
function bound(entries: Map<string, unknown>, most: number): void {
  if (entries.size < most) return;
  const [first] = entries.keys();
  if (first !== undefined) entries.delete(first);
}
