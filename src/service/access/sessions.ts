/**
 * Sessions of people (contract B14): a browser's is a cookie, the command line's a token `gov_cli_…`. Both are random
 * references of which the store keeps the SHA-256; ending one ends it on the server. A session ends after
 * `sessionHours` of the configuration whatever happens, a browser's also after `sessionIdleMinutes` without a call: a browser may stand
 * open on somebody else's desk, a token lies in the keychain of its user. Proven by `test/service/access/auth-sessions.test.ts`.
 */
import { sessionCookie } from '../../contract/auth-words.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { StoredOrganization, StoredSession, StoredUser } from '../../store/port/store.ts';
import { append, unmetered } from '../events/append.ts';
import { sealedWrite, type Idempotency, type PlainAnswer, type Replayed } from '../call/handler.ts';
import { createToken, keyDigest } from './token-format.ts';
import type { Services } from '../dependencies.ts';
import { sessionClosed, sessionOpened, type EndReason } from './tenant-events.ts';

const tokenBytes = 32;
const hourMs = 3_600_000;

/** Who signs in. */
export interface Person {
  readonly user: StoredUser;
  readonly organization: StoredOrganization;
}

export interface NewSession {
  /** Shown once. */
  readonly token: string;
  readonly session: StoredSession;
}

/** A session that is not stored yet. */
export function newSession(
  kind: StoredSession['kind'],
  { user }: Person,
  { now, randomBytes, hosting }: Pick<Services, 'now' | 'randomBytes' | 'hosting'>,
): NewSession {
  const token =
    kind === 'cli' ? createToken('cli', randomBytes) : randomBytes(tokenBytes).toString('base64url');
  const createdMs = now();
  const session: StoredSession = {
    digest: keyDigest(token),
    kind,
    userId: user.userId,
    organizationId: user.organizationId,
    createdMs,
    lastUsedMs: createdMs,
    expiresMs: createdMs + (hosting?.sessionHours ?? limits.sessionHours) * hourMs,
    endedMs: null,
  };
  return { token, session };
}

/** Stores a session with its event; a crash before the store answers leaves both or neither. */
export async function openSession<const Opened extends PlainAnswer>(
  services: Services,
  { organization }: Person,
  {
    session,
    idempotency,
    answer,
  }: { session: StoredSession; idempotency: Idempotency | null; answer: Opened },
): Promise<Opened | Replayed> {
  const stored = await append(services, {
    projectId: organization.home.production,
    leaves: [sessionOpened(session, { nowMs: session.createdMs, salt: services.salt })],
    meter: unmetered,
    effects: [{ kind: 'openSession', session }],
    ...sealedWrite(idempotency, answer, services),
  });
  return 'replayed' in stored ? stored : answer;
}

/** Ends the session of a token, with its event; nothing where there is none that lives. The token is anybody's. */
export async function endSession(
  services: Services,
  { token, kind, reason }: { token: string; kind: StoredSession['kind']; reason: EndReason },
): Promise<void> {
  const { store, now, salt } = services;
  const found = await store.session(keyDigest(token));
  const atMs = now();
  if (found === null) return;
  const { session, organization } = found;
  if (session.kind !== kind || session.endedMs !== null || session.expiresMs <= atMs) return;
  try {
    await append(services, {
      projectId: organization.home.production,
      leaves: [sessionClosed(session, { nowMs: atMs, salt }, reason)],
      meter: unmetered,
      effects: [{ kind: 'endSession', digest: session.digest, atMs }],
    });
  } catch (error) {
    // somebody else ended it meanwhile, and told so
    if (!(error instanceof GovError) || error.code !== 'NOT_FOUND') throw error;
  }
  services.forgetCredential(session.userId);
}

/** `Set-Cookie` with every attribute of contract B14; without an age, so that it goes with the browser. */
export const cookieOf = (token: string): string =>
  `${sessionCookie}=${token}; Path=/; Secure; HttpOnly; SameSite=Strict`;

/** `Set-Cookie` that takes the cookie away. */
export const clearedCookie = `${cookieOf('')}; Max-Age=0`;
