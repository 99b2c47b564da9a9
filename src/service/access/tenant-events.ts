/**
 * System events of organizations and of people who sign in and out (contract O8). They go to the log of the
 * organization's production home, in the transaction of the change, and contain no names or addresses of
 * people. Proven by `test/service/access/auth.test.ts` and `test/service/access/auth-sessions.test.ts`.
 */
import type { EventDraft } from '../../core/events/record.ts';
import { sha256 } from '../../core/hash.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ApiKeyRow, StoredOrganization, StoredSession } from '../../store/port/store.ts';
import type { EventContext } from './project-events.ts';
import type { KeySession } from '../credentials/key-sessions.ts';
import { systemEvent } from '../writes/system.ts';

/** A person signed up. */
export const organizationCreated = (
  { organizationId, name, home }: StoredOrganization,
  { by, ...context }: EventContext,
): EventDraft =>
  systemEvent(
    {
      eventType: 'organization.created',
      action: 'create',
      actor: { id: by.id, type: by.type },
      resource: { id: organizationId, type: 'organization' },
      metadata: { name, home: { ...home } },
    },
    context,
  );

/** Why a session ended early: its person signed out, or signed in again with its cookie. */
export type EndReason = 'signed_out' | 'replaced';

/** A person signed in, and is the actor. */
export const sessionOpened = (session: StoredSession, context: Omit<EventContext, 'by'>): EventDraft =>
  sessionEvent(['session.opened', 'open'], personIn(session), context, {
    kind: session.kind,
    expiresAt: formatTimestamp(session.expiresMs),
  });

export const sessionClosed = (
  session: StoredSession,
  context: Omit<EventContext, 'by'>,
  reason: EndReason,
): EventDraft =>
  sessionEvent(['session.closed', 'close'], personIn(session), context, { kind: session.kind, reason });

/** A key opened the console, and is the actor. */
export const keySessionOpened = (
  { keyId }: ApiKeyRow,
  { digest, expiresMs }: KeySession,
  context: Omit<EventContext, 'by'>,
): EventDraft =>
  sessionEvent(['session.opened', 'open'], { digest, actor: { id: keyId, type: 'api_key' } }, context, {
    kind: 'console',
    expiresAt: formatTimestamp(expiresMs),
  });

export const keySessionClosed = (
  { keyId }: ApiKeyRow,
  { digest }: KeySession,
  context: Omit<EventContext, 'by'>,
  reason: EndReason,
): EventDraft =>
  sessionEvent(['session.closed', 'close'], { digest, actor: { id: keyId, type: 'api_key' } }, context, {
    kind: 'console',
    reason,
  });

interface TenantActor {
  readonly digest: Uint8Array;
  readonly actor: { readonly id: string; readonly type: 'person' | 'api_key' };
}

const personIn = ({ digest, userId }: StoredSession): TenantActor => ({
  digest,
  actor: { id: userId, type: 'person' },
});

const sessionEvent = (
  [eventType, action]: readonly [eventType: string, action: string],
  { digest, actor }: TenantActor,
  context: Omit<EventContext, 'by'>,
  metadata: Readonly<Record<string, string>>,
): EventDraft =>
  systemEvent(
    {
      eventType,
      action,
      actor,
      resource: { id: sessionName(digest), type: 'session' },
      metadata,
    },
    context,
  );

/** Names a session without the digest that finds it: half of the digest's SHA-256, in hex. */
const sessionName = (digest: Uint8Array): string => sha256(digest).toString('hex').slice(0, 32);
