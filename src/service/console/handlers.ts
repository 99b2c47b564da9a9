/**
 * Handlers of console sessions (contract B14, P13). Only a plane has them: people sign in to a service at its identity
 * provider. Proven by `test/http/console-sessions.test.ts`.
 */
import { sessionCookie } from '../../contract/auth-words.ts';
import { GovError } from '../../contract/problems.ts';
import { isRevoked, refusedCredential } from '../../core/credential.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ApiKeyRow } from '../../store/port/store.ts';
import { keySessionClosed, keySessionOpened, type EndReason } from '../access/tenant-events.ts';
import { untrustedSite } from '../credentials/shown.ts';
import type { Handlers } from '../port/handler.ts';
import type { Services } from '../port/services.ts';
import { append } from '../writes/append.ts';
import { plainCookieName } from './cookie-names.ts';

export const consoleSessions: Pick<
  Handlers,
  'createConsoleLink' | 'openConsoleSession' | 'closeConsoleSession'
> = {
  /** Each call creates a new code, a repeat under the same Idempotency-Key too. */
  async createConsoleLink({ caller, basePath }, { keySessions }) {
    const { credential } = caller;
    if (keySessions === null) {
      const detail = 'expected a plane: people sign in to the console of a service at its identity provider';
      throw new GovError('NOT_FOUND', detail);
    }
    if (credential?.kind !== 'key') throw refusedCredential();
    const { code, expiresMs } = keySessions.createLink(credential.digest);
    const headers = { location: `${basePath}/console/session` };
    return { status: 201, body: { code, expiresAt: formatTimestamp(expiresMs) }, headers };
  },

  async openConsoleSession({ body, presented }, services) {
    const { keySessions, store, now } = services;
    const digest = keySessions?.takeLink(body.code) ?? null;
    const key = digest === null ? null : ((await store.apiKey(digest))?.key ?? null);
    const nowMs = now();
    if (keySessions === null || key === null || isRevoked(key, nowMs)) throw usedCode();
    if (key.expiresMs !== null && key.expiresMs <= nowMs) throw usedCode();
    const site = presented?.site ?? null;
    if (site === null) throw untrustedSite();
    await end(services, presented?.cookie ?? null, 'replaced');
    const { token, session } = keySessions.open(key.digest);
    await record(services, key, (context) => keySessionOpened(key, session, context));
    return {
      status: 200,
      body: { success: true },
      headers: { 'set-cookie': cookieFor(services, { site, token }) },
    };
  },

  async closeConsoleSession({ presented }, services) {
    await end(services, presented?.cookie ?? null, 'signed_out');
    const cleared = `${cookieFor(services, { site: presented?.site ?? 'secure', token: '' })}; Max-Age=0`;
    return { status: 200, body: { success: true }, headers: { 'set-cookie': cleared } };
  },
};

async function end(services: Services, token: string | null, reason: EndReason): Promise<void> {
  const { keySessions, store } = services;
  const session = token === null ? null : (keySessions?.close(token) ?? null);
  if (session === null) return;
  const found = await store.apiKey(session.key);
  if (found !== null) {
    await record(services, found.key, (context) => keySessionClosed(found.key, session, context, reason));
  }
}

type SessionEvent = ReturnType<typeof keySessionOpened>;

async function record(
  services: Services,
  { projectId }: ApiKeyRow,
  event: (context: { nowMs: number; salt: () => string }) => SessionEvent,
): Promise<void> {
  const { now, salt } = services;
  await append(services, { projectId, leaves: [event({ nowMs: now(), salt })] });
}

/**
 * `Set-Cookie` with the attributes of contract B14. Browsers refuse `__Host-` and `Secure` over plain HTTP, which only
 * pages of this machine may use: there the cookie has a name of its own. It has no age, so the browser drops it on exit.
 */
const cookieFor = (
  services: Services,
  { site, token }: { readonly site: 'secure' | 'loopback'; readonly token: string },
): string =>
  site === 'secure'
    ? `${sessionCookie}=${token}; Path=/; Secure; HttpOnly; SameSite=Strict`
    : `${plainCookieName(services)}=${token}; Path=/; HttpOnly; SameSite=Strict`;

const usedCode = (): GovError =>
  new GovError(
    'INVALID_CREDENTIAL',
    'expected a code that is at most two minutes old and was not used before; run gov console open again',
  );
