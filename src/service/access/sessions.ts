/**
 * Sessions of people (contract B14): a cookie in a browser, a token `gov_cli_…` on the command line. Both are
 * random references; the store keeps their SHA-256, and ending one ends it on the server. A session ends
 * after the configured `sessionHours`, active or not. A browser's session also ends after
 * `sessionIdleMinutes` without a call, because a browser may stay open on another person's desk; a token is
 * in its user's keychain. Proven by `test/service/access/auth-sessions.test.ts`.
 */
import { sessionCookie } from '../../contract/auth-words.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { StoredOrganization, StoredSession, StoredUser } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import { sealedWrite, type Idempotency } from '../call/idempotency.ts';
import type { PlainAnswer, ReplayedResponse } from '../call/answer.ts';
import { createToken, keyDigest } from '../credentials/token-format.ts';
import type { Services } from '../port/services.ts';
import { sessionClosed, sessionOpened, type EndReason } from './tenant-events.ts';

const tokenBytes = 32;
const hourMs = 3_600_000;

/** The person who signs in. */
export interface Person {
  readonly user: StoredUser;
  readonly organization: StoredOrganization;
}

interface NewSession {
  /** Shown once, in the answer. */
  readonly token: string;
  readonly session: StoredSession;
}

/** A new session, not stored yet. */
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

/** Stores a session with its event. A crash before the store answers leaves both or neither. */
export async function openSession<const Opened extends PlainAnswer>(
  services: Services,
  { organization }: Person,
  {
    session,
    idempotency,
    answer,
  }: { session: StoredSession; idempotency: Idempotency | null; answer: Opened },
): Promise<Opened | ReplayedResponse> {
  const stored = await append(services, {
    projectId: organization.home.production,
    leaves: [sessionOpened(session, { nowMs: session.createdMs, salt: services.salt })],
    effects: [{ kind: 'openSession', session }],
    ...sealedWrite(idempotency, answer, services),
  });
  return 'replayed' in stored ? stored : answer;
}

/**
 * Ends the session of a token, with an event. Does nothing where no live session has it. An attacker may send
 * any token.
 */
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
      effects: [{ kind: 'endSession', digest: session.digest, atMs }],
    });
  } catch (error) {
    // another process ended it in the meantime and recorded the event
    if (!(error instanceof GovError) || error.code !== 'NOT_FOUND') throw error;
  }
  services.forgetCredential(session.userId);
}

/** `Set-Cookie` with every attribute of contract B14. It has no age, so the browser drops it on exit. */
export const cookieOf = (token: string): string =>
  `${sessionCookie}=${token}; Path=/; Secure; HttpOnly; SameSite=Strict`;

/** `Set-Cookie` that deletes the cookie. */
export const clearedCookie = `${cookieOf('')}; Max-Age=0`;
